/**
 * Writes the blocks of the search index. A block whose rows were all written here is inserted in the transaction of its
 * last row. Other blocks, after a start or with several servers, are made a little later from the table. A search scans
 * all rows of a missing block, so a late block costs time only.
 */
import type { Clock, Logger } from '../../../kernel/index.ts'
import type { Database, Transaction } from '../../database/service.ts'
import { decodeBatch, type Entry, lastSeqOf } from '../batch.ts'
import { type HeadRow, insertBlock, type Row, readBlockFirsts, readHead, readRows } from '../tables.ts'
import { type AuditBlock, BLOCK_ROWS, blockStart, OpenBlock } from './block.ts'

const LATER_MS = 1_000
const LOOK_BLOCKS = 1_000 // blocks that are looked up in one query

/** A row to write; `entries` are its events when it is a batch. */
export type WrittenRow = Omit<Row, 'pack'> & { readonly entries?: readonly Entry[] }

export interface BlockWriter {
  /** Takes rows in the order they are written, and inserts the blocks they complete. */
  add(transaction: Transaction, rows: readonly WrittenRow[]): Promise<void>
  /** The added rows up to this number are committed. */
  committed(seq: number): void
  /** The added rows were rolled back, or it is not known whether they are committed. */
  rolledBack(): void
  /** Looks for all blocks that should exist, and makes the missing ones. */
  writeMissing(): Promise<void>
  /** Resolves when no block is being made any more. */
  stop(): Promise<void>
}

export interface BlockWriterParts {
  readonly database: Database
  readonly clock: Clock
  readonly log: Logger
}

const write = async (transaction: Transaction, block: AuditBlock): Promise<void> => {
  const { first_seq, last_seq, min_at, max_at, filter } = block
  await transaction.run(insertBlock, [first_seq, last_seq, min_at, max_at, filter])
}

export const createBlockWriter = ({ database, clock, log }: BlockWriterParts): BlockWriter => {
  let gathering: OpenBlock | undefined
  /** Number of the next row. */
  let next = Number.NaN
  /** First rows of the blocks that the open transaction completed. */
  let completed: number[] = []
  /** First row of the oldest block that is not known to exist. */
  let unknown = 1
  let making: Promise<void> | undefined
  let isScheduled = false
  let isStopped = false

  const isThere = (first: number): void => {
    if (first === unknown) unknown = first + BLOCK_ROWS
  }
  const make = async (first: number): Promise<void> => {
    const rows = await database.longQuery<Row>(readRows, [first - 1, first + BLOCK_ROWS - 1, BLOCK_ROWS])
    if (rows.length === 0) return
    const fresh = new OpenBlock()
    for (const row of rows) for (const event of decodeBatch(row)) fresh.add(event)
    await database.transact((transaction) => write(transaction, fresh.toBlock(first)), { asynchronousCommit: true })
  }
  /** Makes the missing blocks from `unknown` to the last complete one. */
  const makeAll = async (): Promise<void> => {
    const head = await database.get<HeadRow>(readHead, [])
    if (head === undefined) return
    unknown = Math.max(unknown, blockStart(head.pruned_seq + 1))
    const end = blockStart(head.seq + 1)
    while (unknown < end && !isStopped) {
      const upto = Math.min(end, unknown + LOOK_BLOCKS * BLOCK_ROWS)
      const found = await database.longQuery<{ first_seq: number }>(readBlockFirsts, [unknown, upto])
      const known = new Set(found.map(({ first_seq }) => first_seq))
      for (let first = unknown; first < upto && !isStopped; first += BLOCK_ROWS) {
        if (!known.has(first)) await make(first)
        isThere(first)
      }
    }
  }
  const start = (): Promise<void> => {
    making ??= makeAll()
      .catch((error) => {
        if (!isStopped) log.error({ err: error }, 'blocks of the audit trail could not be made; tried again later')
      })
      .finally(() => {
        making = undefined
      })
    return making
  }
  const schedule = (): void => {
    if (isScheduled || isStopped) return
    isScheduled = true
    clock.deadline(LATER_MS).addEventListener('abort', () => {
      isScheduled = false
      if (!isStopped) void start()
    })
  }

  return {
    async add(transaction, rows) {
      for (const row of rows) {
        const first = blockStart(row.seq)
        if (row.seq === first) gathering = new OpenBlock()
        else if (row.seq !== next) gathering = undefined
        next = lastSeqOf(row) + 1
        if (row.entries === undefined) gathering?.add(row)
        else for (const entry of row.entries) gathering?.addEntry(entry)
        if (next !== first + BLOCK_ROWS) continue
        if (gathering !== undefined) await write(transaction, gathering.toBlock(first))
        if (gathering !== undefined) completed.push(first)
        gathering = undefined
      }
    },
    committed(seq) {
      for (const first of completed) isThere(first)
      completed = []
      if (unknown < blockStart(seq + 1)) schedule()
    },
    rolledBack() {
      gathering = undefined
      next = Number.NaN
      completed = []
    },
    async writeMissing() {
      await making
      unknown = 1
      await start()
    },
    async stop() {
      isStopped = true
      await making
    },
  }
}
