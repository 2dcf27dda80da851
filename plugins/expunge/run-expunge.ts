/** The job that erases the record of a patient: the compartment, what was deleted of it, and the Patient at last. */
import { type Logger, type RequestContext, Ruling, toServerError } from '../../kernel/index.ts'
import type { Resources } from '../fhir/service.ts'
import { callerOfJob, type RunningJob } from '../jobs/service.ts'
import type { Model } from '../model/service.ts'
import type { Searches } from '../search/service.ts'
import type { Storage } from '../storage/service.ts'
import { type ErasePart, eraseAll, type Named } from './erase.ts'
import { ExpungeShared } from './errors.ts'

export interface RunExpungeParts {
  readonly resources: Resources
  readonly storage: Storage
  readonly searches: Searches
  readonly model: Model
  readonly request: (given: { caller: RequestContext['caller']; purpose: string }) => RequestContext
  readonly log: Logger
}

const PAGE = 100 // resources of the compartment read at once
const CHUNK = 100 // resources erased in one transaction, unless they refer to each other
const MAX_NAMED = 5

/** What is there now of the record, newest first, without the Patient. Throws 409 for what is about others as well. */
const findRecord = async (
  { searches, request: open }: RunExpungeParts,
  job: RunningJob,
  patient: string,
): Promise<readonly Named[]> => {
  const request = open({ caller: { kind: 'internal' }, purpose: 'expunge' })
  const { patients, reads } = searches.opened
  const search = reads({ default: PAGE, max: PAGE })
  const found: Named[] = []
  const shared: string[] = []
  const own = `Patient/${patient}`
  for (let page: string | undefined, isFirst = true; isFirst || page !== undefined; isFirst = false) {
    const asked = { root: { type: 'Patient', id: patient }, focus: undefined, count: PAGE, address: own, page }
    const { matches, next } = await search.compartment({
      ...asked,
      ...{ context: request, ruling: new Ruling(), types: undefined },
      ...{ start: undefined, end: undefined, since: undefined },
    })
    for (const version of matches) {
      const name = `${version.type}/${version.id}`
      if (name === own) continue
      const isShared =
        version.type === 'Patient' || patients.ofVersion(version, request.ownUrl).some((one) => one !== own)
      if (isShared) shared.push(name)
      else found.push({ type: version.type, id: version.id })
      await job.pause()
    }
    // The last pages have only what the record refers to.
    page = matches.length === 0 ? undefined : next
  }
  if (shared.length > 0) {
    const named = shared.slice(0, MAX_NAMED).join(', ')
    throw ExpungeShared(shared.length, shared.length > MAX_NAMED ? `${named} …` : named)
  }
  return found
}

const isRefused = (error: unknown): boolean => toServerError(error).status === 409

/**
 * Erases in chunks, newest first, because what refers is mostly newer than what it refers to. Where a chunk is referred to by
 * the rest, it is taken with more of it. Throws 409 where others refer to the record.
 */
const eraseInChunks = async (
  part: ErasePart,
  job: RunningJob,
  record: readonly Named[],
  erased: (count: number) => void,
): Promise<void> => {
  let rest = record
  for (let size = CHUNK; rest.length > 0; ) {
    const chunk = rest.slice(0, size)
    try {
      await eraseAll(part, chunk, (transaction) => job.fence(transaction))
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
  { resources, storage, model }: RunExpungeParts,
  job: RunningJob,
  patient: string,
  erased: (count: number) => void,
): Promise<void> => {
  const upTo = await job.write(() => storage.store.closeTime())
  const session = resources.as({ kind: 'internal', purpose: 'expunge', signal: job.signal })
  const patients = new Set([patient])
  for (const type of model.catalog.types.keys()) {
    const asked = { upTo, deleted: true, patients, pause: () => job.pause() }
    for await (const found of session.asOf(type, asked))
      for (const { id } of found) {
        const past = await job.write((transaction) => storage.write.erasePast(transaction, type, id))
        // The Patient is found again when it was erased before.
        if (past !== undefined && past > 0) erased(1)
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
      job.report(`${done} resources erased`)
    }
    const record = await findRecord(parts, job, patient)
    await eraseInChunks({ session, storage: parts.storage }, job, [...record, { type: 'Patient', id: patient }], erased)
    await eraseDeleted(parts, job, patient, erased)
    // Stores the report.
    await job.write(() => undefined)
  }
