/**
 * Numbers of resources. One writer counts them. On PostgreSQL, where several servers write, they come from a sequence of
 * the database, in blocks: a create takes one from memory, and the next blocks are fetched before the last is used up.
 * Two servers never have the same block. A block that was not used for a while is dropped, so that the numbers of a
 * server that was idle do not lie far behind those of the others.
 */
import type { Clock } from '../../kernel/index.ts'
import { type Database, type MaybePromise, sql } from '../database/service.ts'
import { KEY_BLOCK } from './tables.ts'

const IDLE_MS = 5_000 // then a block is dropped
const QUICK_MS = 100 // blocks that are used up faster are too few: the next time twice as many are fetched
const MAX_BLOCKS = 64

/** Several blocks in one round trip. */
const nextBlocks = sql('fhir.keys', {
  sqlite: 'SELECT 1 WHERE ? < 0',
  postgres: "SELECT nextval('resource_key') AS first FROM generate_series(1, ?::integer)",
})

export interface Keys {
  /** A number that nobody else has or gets. A promise only where the database has to be asked. */
  take(): MaybePromise<number>
}

/** Counts from the newest one on. */
export const createCountedKeys = (newest: number): Keys => {
  let last = newest
  return {
    take() {
      last += 1
      return last
    },
  }
}

export const createBlockKeys = (database: Pick<Database, 'all'>, clock: Clock): Keys => {
  /** The next number, and the first that is not in the block any more. */
  let blocks: { next: number; readonly end: number }[] = []
  let left = 0
  let waiting = 0
  let count = 1
  let usedAt = Number.NEGATIVE_INFINITY
  let fetchedAt = Number.NEGATIVE_INFINITY
  let fetching: Promise<void> | undefined

  const fetchBlocks = async (): Promise<void> => {
    const now = clock.monotonic()
    count = now - fetchedAt < QUICK_MS ? Math.min(count * 2, MAX_BLOCKS) : Math.max(1, Math.floor(count / 2))
    const wanted = Math.min(Math.max(count, Math.ceil(waiting / KEY_BLOCK)), MAX_BLOCKS)
    const rows = await database.all<{ first: number | string }>(nextBlocks, [wanted])
    fetchedAt = clock.monotonic()
    usedAt = fetchedAt
    for (const { first } of rows) blocks.push({ next: Number(first), end: Number(first) + KEY_BLOCK })
    left += rows.length * KEY_BLOCK
  }
  const fetch = (): Promise<void> => {
    fetching ??= fetchBlocks().finally(() => {
      fetching = undefined
    })
    return fetching
  }
  const takeHeld = (): number => {
    const block = blocks[0] as { next: number; readonly end: number }
    const key = block.next
    block.next += 1
    left -= 1
    if (block.next === block.end) blocks.shift()
    // What fails is asked for again by whoever finds none.
    if (left < (count * KEY_BLOCK) / 2 && fetching === undefined) fetch().catch(() => undefined)
    return key
  }
  const takeLater = async (): Promise<number> => {
    waiting += 1
    try {
      while (left === 0) await fetch()
      return takeHeld()
    } finally {
      waiting -= 1
    }
  }
  return {
    take() {
      const now = clock.monotonic()
      if (now - usedAt > IDLE_MS && waiting === 0) {
        blocks = []
        left = 0
      }
      usedAt = now
      return left > 0 ? takeHeld() : takeLater()
    },
  }
}
