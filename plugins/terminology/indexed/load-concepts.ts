/** Puts a code system into the index in batches, and goes on after an interruption. */
import { isServerError } from '../../../kernel/index.ts'
import type { Database } from '../../database/service.ts'
import type { SystemHeader } from '../code-system.ts'
import { CodeTwice, LoadRunning } from '../errors.ts'
import { toIndexRows } from './index-rows.ts'
import type { LoadedConcept } from './loaded-concept.ts'
import type { RowsWriter } from './rows-writer.ts'
import { readNamed, type SystemRow } from './tables.ts'

export interface LoadedSystem {
  readonly source: 'pull' | 'load'
  /** Name of the source, such as its URL: a later load of the same name takes the place of this one. */
  readonly name: string
  /** Which state of the source it is, such as an ETag or a hash: only a load of the same state goes on after an interruption. */
  readonly edition: string
  readonly header: SystemHeader
}

/**
 * The concepts in batches, from the batch of this number on (0 is the first). The same number gives the same concepts each
 * time.
 */
export type ConceptBatches = (from: number) => AsyncIterable<readonly LoadedConcept[]>

export interface LoadOptions {
  readonly signal?: AbortSignal
  /** True where no request waits for this process: the work does not rest. */
  readonly isAlone?: boolean
}

export interface LoadResult {
  /** Number of concepts. */
  readonly size: number
  /** Number of batches that an earlier attempt had stored. */
  readonly resumed: number
}

/**
 * Resolves when the code system is in use and the one before it is not. When it rejects, the one before it stays in use,
 * and the next call goes on behind the last batch that was stored. Throws 400 for a code that is there twice.
 */
export type LoadConcepts = (system: LoadedSystem, batches: ConceptBatches, options?: LoadOptions) => Promise<LoadResult>

const SLICE = 250 // concepts of one transaction

/** What breaks a unique index: the error of SQLite, or what the database makes of PostgreSQL's. */
const isUnique = (error: unknown): boolean => {
  if (isServerError(error)) return error.key === 'database/conflict'
  return (error as { code?: string } | undefined)?.code?.startsWith('SQLITE_CONSTRAINT') === true
}

export const createLoadConcepts = (
  database: Pick<Database, 'all'>,
  writerFor: (isAlone: boolean) => RowsWriter,
  /** Called when the code system is in use. */
  changed: () => void,
): LoadConcepts => {
  const running = new Map<string, Promise<unknown>>()

  /** The row of the attempt that is gone on with, or a new one. */
  const opened = async (system: LoadedSystem, writer: RowsWriter): Promise<SystemRow> => {
    const { source, name, edition } = system
    const rows = await database.all<SystemRow>(readNamed, [source, name])
    const header = JSON.stringify(system.header)
    const same = rows.find((row) => row.state === 'building' && row.edition === edition && row.header === header)
    if (same === undefined) return writer.begin(system)
    await writer.rewind(same)
    return same
  }
  const load: LoadConcepts = async (system, batches, { signal, isAlone = false } = {}) => {
    const { isCaseSensitive, url } = system.header
    const writer = writerFor(isAlone)
    const row = await opened(system, writer)
    let { size } = row
    let number = row.batches
    for await (const batch of batches(number)) {
      signal?.throwIfAborted()
      number += 1
      for (let at = 0; at < Math.max(1, batch.length); at += SLICE) {
        const slice = batch.slice(at, at + SLICE)
        const rows = toIndexRows(slice, size, isCaseSensitive)
        size += slice.length
        const isLast = at + SLICE >= batch.length
        try {
          await writer.write(row.id, rows, isLast ? { batches: number, size } : undefined)
        } catch (error) {
          if (isUnique(error)) throw CodeTwice(url.slice(0, 200), number - 1)
          throw error
        }
      }
    }
    signal?.throwIfAborted()
    await writer.complete(row.id)
    changed()
    return { size, resumed: row.batches }
  }
  return async (system, batches, options) => {
    const key = JSON.stringify([system.source, system.name])
    // Two loads of one source at once would write the same batches.
    if (running.has(key)) throw LoadRunning(system.name.slice(0, 200))
    const made = load(system, batches, options)
    running.set(key, made)
    try {
      return await made
    } finally {
      running.delete(key)
    }
  }
}
