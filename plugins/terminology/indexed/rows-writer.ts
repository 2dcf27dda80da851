/**
 * Writes a version of a code system into the index, in transactions that are short enough for others to be answered in
 * between. Everything it writes is unused until `complete`.
 */
import type { Clock } from '../../../kernel/index.ts'
import type { Database, Transaction } from '../../database/service.ts'
import type { SystemHeader } from '../code-system.ts'
import type { IndexRows } from './index-rows.ts'
import {
  DELETIONS,
  deleteParents,
  deleteSystem,
  endSystem,
  insertConcepts,
  insertDesignations,
  insertDetails,
  insertEdges,
  insertParents,
  insertProperties,
  insertSystem,
  readEnded,
  readLastPlace,
  readNamed,
  readSystem,
  type SystemRow,
  type SystemSource,
  setProgress,
  setReady,
  takeNumber,
} from './tables.ts'

const PLACES = 500 // concepts of one transaction
/** How long the rows of a version stay that another one has replaced: servers that are answering a question still read them. */
const KEPT_MS = 10 * 60_000

export interface NewSystem {
  readonly source: SystemSource
  /** Its name at the source, such as an id or a URL. */
  readonly name: string
  /** Which version of the source it is, such as a version number, an ETag or a hash. */
  readonly edition: string
  readonly header: SystemHeader
}

export interface RowsWriter {
  /** A row of state `building`. */
  begin(system: NewSystem): Promise<SystemRow>
  /** Removes what was stored behind the last complete batch. */
  rewind(system: SystemRow): Promise<void>
  /** `progress`: what is complete with these rows; without it, they are a part of a batch. */
  write(id: number, rows: IndexRows, progress?: { readonly batches: number; readonly size: number }): Promise<void>
  /** From now on it is used, and other versions of the same name are not. */
  complete(id: number): Promise<void>
  /** Versions of this name are not used any more. */
  end(source: SystemSource, name: string): Promise<void>
  /** Removes the rows of versions that ended a while ago. */
  clean(): Promise<void>
}

const MAX_REST_MS = 2_000

/**
 * Does the work, and rests for as long as it took, so that requests have half of the time; work that waited long for the database
 * is followed by a short rest. Without requests, others get a turn and no more.
 */
const createRest =
  (isAlone: boolean) =>
  async (work: () => Promise<void>): Promise<void> => {
    const began = performance.now()
    await work()
    if (isAlone) await new Promise((resolve) => setImmediate(resolve))
    else
      await new Promise((resolve) => setTimeout(resolve, Math.min(MAX_REST_MS, Math.max(1, performance.now() - began))))
  }

export const createRowsWriter = (database: Database, clock: Clock, isAlone = false): RowsWriter => {
  const rested = createRest(isAlone)
  /** Rows that nobody uses yet need not be on disk; the COMMIT that puts them into use waits for it. */
  const transact = (work: (transaction: Transaction) => Promise<void>): Promise<void> =>
    rested(() => database.transact(work, { isLong: true, asynchronousCommit: true }))
  const removeFrom = async (id: number, first: number): Promise<void> => {
    const last = (await database.get<{ place: number | null }>(readLastPlace, [id]))?.place ?? -1
    for (let from = first; from <= last; from += PLACES) {
      await transact(async (transaction) => {
        for (const deletion of DELETIONS) await transaction.run(deletion, [id, from, from + PLACES])
      })
    }
  }
  const endIn = async (transaction: Transaction, source: SystemSource, name: string, but?: number): Promise<void> => {
    const rows = await transaction.all<SystemRow>(readNamed, [source, name])
    for (const { id } of rows) if (id !== but) await transaction.run(endSystem, [clock.now(), id])
  }
  return {
    async begin({ source, name, edition, header }) {
      return database.transact(async (transaction) => {
        const { id } = (await transaction.get<{ id: number }>(takeNumber, [])) as { id: number }
        const { url, version = '' } = header
        await transaction.run(insertSystem, [id, source, name, edition, url, version, JSON.stringify(header)])
        return (await transaction.get<SystemRow>(readSystem, [id])) as SystemRow
      })
    },
    rewind: ({ id, size }) => removeFrom(id, size),
    async write(id, rows, progress) {
      await transact(async (transaction) => {
        for (const [statement, json] of [
          [insertConcepts, rows.concepts],
          [insertDetails, rows.details],
          [insertProperties, rows.properties],
          [insertDesignations, rows.designations],
          [insertParents, rows.parents],
        ] as const)
          if (json !== '') await transaction.run(statement, [id, json])
        if (progress !== undefined) await transaction.run(setProgress, [progress.batches, progress.size, id])
      })
    },
    async complete(id) {
      const { size, source, name } = (await database.get<SystemRow>(readSystem, [id])) as SystemRow
      for (let from = 0; from < size; from += PLACES) {
        await transact(async (transaction) => {
          const slice = [id, from, from + PLACES]
          await transaction.run(insertEdges, slice)
          await transaction.run(deleteParents, slice)
        })
      }
      await database.transact(async (transaction) => {
        await endIn(transaction, source, name, id)
        await transaction.run(setReady, [id])
        // Other servers keep the one before, whose rows will be removed.
        transaction.publish({ about: 'terminology' })
      })
    },
    async end(source, name) {
      // Most code systems that are stored have never been in the index.
      const rows = await database.all<SystemRow>(readNamed, [source, name])
      if (rows.some(({ state }) => state !== 'ended'))
        await database.transact((transaction) => endIn(transaction, source, name))
    },
    async clean() {
      for (const { id } of await database.all<SystemRow>(readEnded, [clock.now() - KEPT_MS])) {
        await removeFrom(id, 0)
        await database.transact((transaction) => transaction.run(deleteSystem, [id]))
      }
    },
  }
}
