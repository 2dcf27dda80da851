/** $expunge: erases a resource, its past versions, or the record of a patient. */
import type { Random } from '../../kernel/index.ts'
import type { Database } from '../database/service.ts'
import type { Invocation, Operation, OperationAnswer, Resources } from '../fhir/service.ts'
import { begunAnswer, type Jobs, newJobId, ownerOf } from '../jobs/service.ts'
import { NotFound, type Storage } from '../storage/service.ts'
import { eraseAll } from './erase.ts'
import { ExpungeInput } from './errors.ts'
import { checkMayExpunge } from './may-expunge.ts'

export const EXPUNGE_KIND = 'expunge'
/** The name of the operation, also in the audit trail. */
export const EXPUNGE_CODE = 'expunge'
/** Its name in the audit trail where it is asked for a record. */
const RECORD_EVENT = 'expunge-record'

export interface ExpungeParts {
  readonly database: Database
  readonly storage: Pick<Storage, 'write' | 'store'>
  readonly resources: Resources
  readonly jobs: Jobs
  readonly random: Random
  /** The setting [expunge] anonymous. */
  readonly allowsAnonymous: boolean
}

const outcomeOf = (diagnostics: string): OperationAnswer => ({
  resource: {
    resourceType: 'OperationOutcome',
    issue: [{ severity: 'information', code: 'informational', diagnostics }],
  },
})

const begin = async (
  { database, storage, jobs, random }: ExpungeParts,
  { request, ruling }: Invocation,
  id: string,
): Promise<OperationAnswer> => {
  if ((await storage.store.read('Patient', id)) === undefined) throw NotFound('Patient', id)
  const job = newJobId(random)
  await database.transact((transaction) =>
    jobs.enqueue(transaction, {
      ...{ id: job, kind: EXPUNGE_KIND, ...ownerOf(request.caller), upto: 0 },
      spec: JSON.stringify({ patient: id }),
      ruling: JSON.stringify(ruling.restrictions),
    }),
  )
  jobs.wake()
  return { ...begunAnswer('expunge', `${request.baseUrl}/expunge/${job}`), recordedAs: RECORD_EVENT }
}

const expunge = async (parts: ExpungeParts, invocation: Invocation): Promise<OperationAnswer> => {
  const { request, interaction, inputs } = invocation
  checkMayExpunge(invocation, parts.allowsAnonymous)
  const { type = '', id = '' } = interaction
  const versions = inputs.get<string>('versions') ?? 'all'
  if (versions !== 'all' && versions !== 'past') throw ExpungeInput('The parameter "versions" is all or past.')
  if (inputs.get<boolean>('compartment') === true) {
    if (type !== 'Patient') throw ExpungeInput('The parameter "compartment" is for a Patient.')
    if (versions === 'past') throw ExpungeInput('A record is erased with all versions; leave "versions" out.')
    return begin(parts, invocation, id)
  }
  const { storage, database, resources } = parts
  const count = (erased: number): string => `${erased} past ${erased === 1 ? 'version' : 'versions'}`
  if (versions === 'all') {
    const erased = await eraseAll({ session: resources.as(request), storage }, [{ type, id }])
    return outcomeOf(`The content of ${type}/${id} was erased, with that of ${count(erased)}.`)
  }
  const erased = await database.transact((transaction) => storage.write.erasePast(transaction, type, id))
  if (erased === undefined) throw NotFound(type, id)
  return outcomeOf(`The content of ${count(erased)} of ${type}/${id} was erased.`)
}

export const expungeOperation = (parts: ExpungeParts): Operation => ({
  code: EXPUNGE_CODE,
  definition: 'http://hapifhir.io/fhir/OperationDefinition/expunge',
  documentation: 'Erases the content of a resource with all of its versions, or that of the record of a patient.',
  levels: ['instance'],
  parameters: [
    {
      name: 'versions',
      type: 'code',
      documentation:
        'all: the resource is deleted, and all content erased; that is the default. past: the current version stays.',
    },
    {
      name: 'compartment',
      type: 'boolean',
      documentation: 'True, for a Patient: all resources of the record as well, also deleted ones, in the background.',
    },
  ],
  rights: 'd',
  requestClass: 'write',
  isWriters: true,
  isPostOnly: true,
  answer: (invocation) => expunge(parts, invocation),
})
