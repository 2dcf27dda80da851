/** The job that erases the record of a patient: the compartment, what was deleted of it, and the Patient at last. */
import { type Host, toServerError } from '../../kernel/index.ts'
import type { Database } from '../database/service.ts'
import type { Fhir, Resources } from '../fhir/service.ts'
import { callerOfJob, type RunningJob } from '../jobs/service.ts'
import type { Model } from '../model/service.ts'
import type { Searches } from '../search/service.ts'
import type { Storage } from '../storage/service.ts'
import { type EraseInJob, type ErasePart, eraseAll, type Named } from './erase.ts'
import { ExpungeShared } from './errors.ts'
import { EXPUNGE_CODE } from './operation.ts'

export interface RunExpungeParts extends Pick<Host, 'run' | 'request'> {
  readonly database: Database
  readonly resources: Resources
  readonly storage: Storage
  readonly searches: Searches
  readonly model: Model
  readonly fhir: Pick<Fhir, 'isReadElsewhere'>
}

const CHUNK = 100 // resources erased in one transaction, unless they refer to each other
const MAX_NAMED = 5

/** Types that are stored as resources. */
const typesOf = ({ fhir, model }: RunExpungeParts): readonly string[] =>
  [...model.catalog.types.keys()].filter((type) => !fhir.isReadElsewhere(type))

/** The number in the key of a stream, which ascends with creation. */
const orderOf = (key: string): number => Number(key.slice(key.indexOf('.') + 1))

/** What is there now of the record, newest first, without the Patient. Throws 409 for what is about others as well. */
const findRecord = async (parts: RunExpungeParts, job: RunningJob, patient: string): Promise<readonly Named[]> => {
  const { resources, searches } = parts
  const session = resources.as({ kind: 'internal', purpose: 'expunge', signal: job.signal })
  const { patients, search } = searches.opened
  const { registry } = search
  const own = `Patient/${patient}`
  const found = new Map<string, Named & { readonly order: number }>()
  const shared = new Set<string>()
  const look = async (type: string, code: string): Promise<void> => {
    for await (const held of session.stream(type, `${code}=${own}`)) {
      const { id, key } = held
      const name = `${type}/${id}`
      if (name === own || found.has(name)) continue
      const isShared =
        type === 'Patient' || patients.ofResource(type, id, held.parse(), undefined).some((one) => one !== own)
      if (isShared) shared.add(name)
      else found.set(name, { type, id, order: orderOf(key) })
      await job.pause()
    }
  }
  const compartment = registry.compartments.Patient ?? {}
  for (const type of typesOf(parts))
    for (const code of compartment[type] ?? [])
      if (registry.parameters(type).get(code)?.type === 'reference') await look(type, code)
  if (shared.size > 0) {
    const named = [...shared].slice(0, MAX_NAMED).join(', ')
    throw ExpungeShared(shared.size, shared.size > MAX_NAMED ? `${named} …` : named)
  }
  return [...found.values()].sort((one, other) => other.order - one.order)
}

/**
 * Each resource of a record has an event of its own, because the request names the Patient only. A deletion has one beside it.
 */
const inJob = ({ run, request }: RunExpungeParts, job: RunningJob, patient: string): EraseInJob => {
  const details = { patients: () => [`Patient/${patient}`] }
  return {
    fence: (transaction) => job.fence(transaction),
    record(transaction, { type, id }) {
      if (run.onAudit === null) return undefined
      const interaction = { kind: 'operation', type, id, operation: EXPUNGE_CODE } as const
      const made = request({ caller: callerOfJob(job), purpose: 'expunge' })
      return run.onAudit({ request: made, interaction, status: 200, details, transaction })
    },
  }
}

const isRefused = (error: unknown): boolean => toServerError(error).status === 409

/**
 * Erases in chunks, newest first, because what refers is mostly newer than what it refers to. Where a chunk is referred to by
 * the rest, it is taken with more of it. Throws 409 where others refer to the record.
 */
const eraseInChunks = async (
  part: ErasePart,
  job: RunningJob,
  within: EraseInJob,
  record: readonly Named[],
  erased: (count: number) => void,
): Promise<void> => {
  let rest = record
  for (let size = CHUNK; rest.length > 0; ) {
    const chunk = rest.slice(0, size)
    try {
      await eraseAll(part, chunk, within)
    } catch (error) {
      if (!isRefused(error) || chunk.length === rest.length) throw error
      size *= 2
      continue
    }
    erased(chunk.length)
    rest = rest.slice(size)
    size = CHUNK
    await job.pause()
  }
}

/** Erases the past versions of what was deleted and was about the patient. */
const eraseDeleted = async (
  parts: RunExpungeParts,
  job: RunningJob,
  within: EraseInJob,
  patient: string,
  erased: (count: number) => void,
): Promise<void> => {
  const { database, resources, storage } = parts
  const upTo = await job.write(() => storage.store.closeTime())
  const session = resources.as({ kind: 'internal', purpose: 'expunge', signal: job.signal })
  const patients = new Set([patient])
  for (const type of typesOf(parts)) {
    const asked = { upTo, deleted: true, patients, pause: () => job.pause() }
    for await (const found of session.asOf(type, asked))
      for (const { id } of found) {
        const isErased = await database.transact(async (transaction) => {
          await within.fence(transaction)
          const past = await storage.write.erasePast(transaction, type, id)
          // What this job deleted itself is found again, and has no content any more.
          if (past === undefined || past === 0) return false
          await within.record(transaction, { type, id })
          return true
        })
        if (isErased) erased(1)
      }
  }
}

export const createRunExpunge =
  (parts: RunExpungeParts) =>
  async (job: RunningJob): Promise<void> => {
    const { patient } = JSON.parse(job.spec) as { readonly patient: string }
    const session = parts.resources.as({
      ...{ kind: 'stored', caller: callerOfJob(job), restrictions: JSON.parse(job.ruling) },
      ...{ purpose: 'expunge', baseUrl: '', signal: job.signal },
    })
    let done = 0
    const erased = (count: number): void => {
      done += count
      job.report(`${done} resources erased since its last start`)
    }
    const record = await findRecord(parts, job, patient)
    const within = inJob(parts, job, patient)
    const all = [...record, { type: 'Patient', id: patient }]
    await eraseInChunks({ session, storage: parts.storage }, job, within, all, erased)
    await eraseDeleted(parts, job, within, patient, erased)
  }
