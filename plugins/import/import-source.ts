/** Imports one file: reads it in batches, each of which is stored by a job of its own. */
import type { Clock } from '../../kernel/index.ts'
import { isServerError } from '../../kernel/index.ts'
import type { Database, MaybePromise, Transaction } from '../database/service.ts'
import type { Session } from '../fhir/service.ts'
import { createDoneRecords } from './done-records.ts'
import { SourceChanged } from './errors.ts'
import type { ImportSource } from './find-sources.ts'
import { type ImportRecord, readRecords } from './read-records.ts'
import type { RefusedRecord } from './service.ts'
import { storeBatch } from './store-batch.ts'
import {
  addRange,
  beginSource,
  endSource,
  findSource,
  forgetRanges,
  listRanges,
  type RangeRow,
  readSourceMark,
  type SourceRow,
  writeSourceMark,
} from './tables.ts'

const BATCH_CHARS = 2_000_000 // of text; a larger record is a batch by itself

/** References to what is not stored: the other records may bring it. */
const UNRESOLVED = 'references/refused'

export interface SourceParts {
  readonly database: Pick<Database, 'get' | 'all'>
  /** Runs work on the rows of the import in a transaction. */
  readonly transact: <T>(work: (transaction: Transaction) => MaybePromise<T>) => Promise<T>
  /** Awaited in each transaction that stores resources; what it throws undoes it. */
  readonly fence?: ((transaction: Transaction) => MaybePromise<void>) | undefined
  /** Called in the transaction that notes that a record was refused, after `refused`. */
  readonly note?: ((transaction: Transaction, record: RefusedRecord) => MaybePromise<void>) | undefined
  /** Most records in one transaction. */
  readonly batchRecords: number
  /** Takes room for so many characters of a record that is tried again. False where there is none. */
  readonly takeRoom: (characters: number) => boolean
  readonly session: Pick<Session, 'change' | 'transaction'>
  readonly clock: Pick<Clock, 'now'>
  readonly isDryRun: boolean
  readonly isAgain: boolean
  readonly read: (bytes: number) => void
  /** Called with the number of resources of each batch that is stored. */
  readonly stored: (resources: number) => void
  readonly resumed: (resources: number) => void
  readonly refused: (record: RefusedRecord) => void
}

export interface SourceOutcome {
  readonly resources: number
  readonly failed: number
  /** Records that refer to what is not stored. They are not noted as done. */
  readonly unresolved: number
  /** These records, by their numbers, where there was room to keep all of them: the file need not be read again. */
  readonly kept: readonly ImportRecord[] | undefined
  /** An earlier run has begun the import of the file. */
  readonly isResumed: boolean
  /** When the file was imported before, in milliseconds since the epoch; then nothing was read, and `failed` is of that time. */
  readonly finished?: number
}

async function* batchesOf(
  lists: AsyncIterable<readonly ImportRecord[]> | Iterable<readonly ImportRecord[]>,
  batchRecords: number,
): AsyncGenerator<readonly ImportRecord[]> {
  let [batch, chars]: [ImportRecord[], number] = [[], 0]
  let failure: { readonly error: unknown } | undefined
  const orFailure = async function* (): AsyncGenerator<readonly ImportRecord[]> {
    try {
      yield* lists
    } catch (error) {
      failure = { error }
    }
  }
  for await (const records of orFailure())
    for (const record of records) {
      if (batch.length > 0 && (batch.length === batchRecords || chars + record.json.length > BATCH_CHARS)) {
        yield batch
        ;[batch, chars] = [[], 0]
      }
      batch.push(record)
      chars += record.json.length
    }
  // What was read before the file could not be read further is stored.
  if (batch.length > 0) yield batch
  if (failure !== undefined) throw failure.error
}

export interface OpenSource {
  /** Jobs that store a batch each. The file is read while jobs run; the last one to end records that the file is done. */
  jobs(): AsyncGenerator<() => Promise<void>>
  /** Complete when all jobs have ended. */
  readonly outcome: SourceOutcome
  /** To be called when all jobs have ended: records that the rest of the file was refused, and that the file is done. */
  refuse(error: unknown): Promise<void>
}

/**
 * `isLast`: records with unresolved references are refused, because no other try follows. `before`: what the try before has
 * left.
 */
export const openSource = async (
  parts: SourceParts,
  source: ImportSource,
  isLast: boolean,
  before: SourceOutcome | undefined,
): Promise<OpenSource> => {
  const { database, session, clock, isDryRun, isAgain, transact, fence } = parts
  const { id, name, type } = source
  const known = isDryRun ? undefined : await database.get<SourceRow>(findSource, [id])
  if (known?.finished != null && !isAgain) {
    const finished = Number(known.finished)
    const outcome = {
      resources: 0,
      failed: Number(known.failed),
      unresolved: 0,
      kept: undefined,
      isResumed: false,
      finished,
    }
    return { jobs: async function* () {}, outcome, refuse: async () => undefined }
  }
  const isBegun = known !== undefined && known.finished == null
  const isResumed = before?.isResumed ?? isBegun
  if (!isDryRun && !isBegun) await transact((transaction) => transaction.run(beginSource, [id, name, clock.now()]))
  const done = createDoneRecords(isDryRun ? [] : await database.all<RangeRow>(listRanges, [id]))
  if (done.resources > 0) parts.resumed(done.resources)
  let kept: ImportRecord[] | undefined = []
  const outcome = {
    resources: done.resources,
    failed: done.failed,
    unresolved: 0,
    isResumed,
    get kept() {
      return kept?.sort((one, other) => one.number - other.number)
    },
  }
  let running = 0
  let isRead = false

  const refused = async (record: ImportRecord, error: unknown): Promise<void> => {
    if (!isLast && isServerError(error) && error.key === UNRESOLVED) {
      outcome.unresolved += 1
      if (parts.takeRoom(record.json.length)) kept?.push(record)
      else kept = undefined
      return
    }
    outcome.failed += 1
    // Reported before it is stored: an import that is interrupted in between reports it again.
    const refusal = { file: record.file, line: record.line, error, isResumed }
    parts.refused(refusal)
    if (isDryRun) return
    const { number } = record
    await transact(async (transaction) => {
      await transaction.run(addRange, [id, number, number, 0, 1])
      await parts.note?.(transaction, refusal)
    })
  }
  const finish = async (): Promise<void> => {
    if (isDryRun || outcome.unresolved > 0) return
    const { resources, failed } = outcome
    await transact(async (transaction) => {
      await transaction.run(endSource, [clock.now(), resources, failed, id])
      await transaction.run(forgetRanges, [id])
    })
  }
  /** Numbers of records are those of the file as it was when the import began. */
  const keepMark = async (mark: string): Promise<void> => {
    const before = (await database.get<{ mark: string | null }>(readSourceMark, [id]))?.mark ?? ''
    if (before === '') await transact((transaction) => transaction.run(writeSourceMark, [mark, id]))
    else if (before !== mark) throw SourceChanged(name)
  }
  const store = async (batch: readonly ImportRecord[]): Promise<void> => {
    const stored = await storeBatch({ session, source: id, type, isDryRun, fence, refused }, batch)
    outcome.resources += stored
    parts.stored(stored)
    running -= 1
    if (isRead && running === 0) await finish()
  }
  async function* missing(): AsyncGenerator<readonly ImportRecord[]> {
    const { bytes, mark } = await source.open()
    if (!isDryRun && mark !== '') await keepMark(mark)
    for await (const records of readRecords(source, bytes, parts.read))
      yield records.filter(({ number }) => !done.has(number))
  }
  return {
    outcome,
    async refuse(error) {
      const refusal = { file: name, line: undefined, error, isResumed }
      outcome.failed += 1
      outcome.unresolved = 0
      parts.refused(refusal)
      if (isDryRun) return
      const { resources, failed } = outcome
      await transact(async (transaction) => {
        await transaction.run(endSource, [clock.now(), resources, failed, id])
        await transaction.run(forgetRanges, [id])
        await parts.note?.(transaction, refusal)
      })
    },
    async *jobs() {
      const left = before?.kept
      for await (const batch of batchesOf(left === undefined ? missing() : [left], parts.batchRecords)) {
        running += 1
        yield () => store(batch)
      }
      isRead = true
      if (running === 0) await finish()
    },
  }
}
