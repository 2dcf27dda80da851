/** Imports one file: reads it in batches, each of which is stored by a job of its own. */
import type { Clock } from '../../kernel/index.ts'
import { isServerError } from '../../kernel/index.ts'
import type { Database } from '../database/service.ts'
import type { Session } from '../fhir/service.ts'
import { createDoneRecords } from './done-records.ts'
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
  type SourceRow,
} from './tables.ts'

const BATCH_RECORDS = 250
const BATCH_CHARS = 2_000_000 // of text; a larger record is a batch by itself

/** References to what is not stored: the other records may bring it. */
const UNRESOLVED = 'references/refused'

export interface SourceParts {
  readonly database: Pick<Database, 'get' | 'all' | 'transact'>
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
  /** When the file was imported before, in milliseconds since the epoch; then nothing was read. */
  readonly finished?: number
}

async function* batchesOf(records: AsyncIterable<ImportRecord>): AsyncGenerator<readonly ImportRecord[]> {
  let [batch, chars]: [ImportRecord[], number] = [[], 0]
  for await (const record of records) {
    if (batch.length > 0 && (batch.length === BATCH_RECORDS || chars + record.json.length > BATCH_CHARS)) {
      yield batch
      ;[batch, chars] = [[], 0]
    }
    batch.push(record)
    chars += record.json.length
  }
  if (batch.length > 0) yield batch
}

export interface OpenSource {
  /** Jobs that store a batch each. Read on while others run; the last one that ends notes that the file is done. */
  jobs(): AsyncGenerator<() => Promise<void>>
  /** Complete when all jobs have ended. */
  readonly outcome: SourceOutcome
}

/** `isLast`: records with unresolved references are refused, because no other try follows. */
export const openSource = async (parts: SourceParts, source: ImportSource, isLast: boolean): Promise<OpenSource> => {
  const { database, session, clock, isDryRun, isAgain } = parts
  const { id, name } = source
  const known = isDryRun ? undefined : await database.get<SourceRow>(findSource, [id])
  if (known?.finished != null && !isAgain) {
    const outcome = { resources: 0, failed: 0, unresolved: 0, finished: Number(known.finished) }
    return { jobs: async function* () {}, outcome }
  }
  if (!isDryRun && (known === undefined || known.finished != null))
    await database.transact((transaction) => transaction.run(beginSource, [id, name, clock.now()]))
  const done = createDoneRecords(isDryRun ? [] : await database.all<RangeRow>(listRanges, [id]))
  if (done.resources > 0) parts.resumed(done.resources)
  const outcome = { resources: done.resources, failed: done.failed, unresolved: 0 }
  let running = 0
  let isRead = false

  const refused = async (record: ImportRecord, error: unknown): Promise<void> => {
    if (!isLast && isServerError(error) && error.key === UNRESOLVED) {
      outcome.unresolved += 1
      return
    }
    outcome.failed += 1
    // Reported first: an import that ends in between reports it again.
    parts.refused({ file: record.file, line: record.line, error })
    if (isDryRun) return
    const { number } = record
    await database.transact((transaction) => transaction.run(addRange, [id, number, number, 0, 1]))
  }
  const finish = async (): Promise<void> => {
    if (isDryRun || outcome.unresolved > 0) return
    const { resources, failed } = outcome
    await database.transact(async (transaction) => {
      await transaction.run(endSource, [clock.now(), resources, failed, id])
      await transaction.run(forgetRanges, [id])
    })
  }
  const store = async (batch: readonly ImportRecord[]): Promise<void> => {
    const stored = await storeBatch({ session, source: id, isDryRun, refused }, batch)
    outcome.resources += stored
    parts.stored(stored)
    running -= 1
    if (isRead && running === 0) await finish()
  }
  async function* missing(): AsyncGenerator<ImportRecord> {
    for await (const record of readRecords(source, parts.read)) if (!done.has(record.number)) yield record
  }
  return {
    outcome,
    async *jobs() {
      for await (const batch of batchesOf(missing())) {
        running += 1
        yield () => store(batch)
      }
      isRead = true
      if (running === 0) await finish()
    },
  }
}
