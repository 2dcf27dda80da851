/** $import: begins a job that stores the resources of files. */
import type { Random } from '../../kernel/index.ts'
import type { Database } from '../database/service.ts'
import type { Invocation, Operation } from '../fhir/service.ts'
import { begunAnswer, type Jobs, newJobId, ownerOf } from '../jobs/service.ts'
import type { AllowedSources } from './allowed-sources.ts'
import { ImportBusy, ImportInBundle, ImportOff } from './errors.ts'
import { IMPORT_PARAMETERS, readImportSpec } from './read-import-spec.ts'

export const IMPORT_KIND = 'import'
const MAX_OPEN = 2 // imports of a caller at a time
const BUSY_SECONDS = 60

export interface ImportOperationParts {
  readonly database: Database
  readonly jobs: Jobs
  readonly random: Random
  readonly allowed: AllowedSources
  readonly isType: (name: string) => boolean
}

const kickOff = async ({ database, jobs, random, allowed, isType }: ImportOperationParts, invocation: Invocation) => {
  const { request, interaction, ruling } = invocation
  if (interaction.entry !== undefined) throw ImportInBundle()
  const spec = readImportSpec(invocation, allowed, isType)
  const owner = ownerOf(request.caller)
  const id = newJobId(random)
  await database.transact(async (transaction) => {
    if ((await jobs.countOpen(transaction, { kind: IMPORT_KIND, ...owner })) >= MAX_OPEN)
      throw ImportBusy(MAX_OPEN).with({ headers: { 'retry-after': String(BUSY_SECONDS) } })
    const job = {
      id,
      kind: IMPORT_KIND,
      ...owner,
      spec: JSON.stringify(spec),
      ruling: JSON.stringify(ruling.restrictions),
    }
    await jobs.enqueue(transaction, { ...job, upto: 0 })
  })
  jobs.wake()
  return begunAnswer('import', `${request.baseUrl}/import/${id}`)
}

const DECLARED = {
  code: 'import',
  definition: 'http://hl7.org/fhir/uv/bulkdata/OperationDefinition/import',
  documentation: 'Stores the resources of NDJSON files, in the background.',
  levels: ['system'],
} as const

export const importOperation = (parts: ImportOperationParts): Operation => ({
  ...DECLARED,
  parameters: IMPORT_PARAMETERS,
  isWriters: true,
  answer: (invocation) => kickOff(parts, invocation),
})

/** The operation where no sources are listed: it refuses every request. */
export const refusedOperation = (): Operation => ({
  ...DECLARED,
  parameters: IMPORT_PARAMETERS.map((parameter) => ({ ...parameter, min: 0 })),
  isListed: false,
  answer() {
    throw ImportOff().with({ isExpected: true })
  },
})
