/**
 * Gives out resource keys. A single writer counts them. On PostgreSQL, where several servers write, each server takes blocks
 * of keys from a sequence of the database, so two servers never give out the same key. A create takes its key from memory;
 * the next blocks are fetched before the last is used up. A server that was idle for IDLE_MS drops its blocks, so that its
 * keys do not lie far behind those of the other servers.
 */
import type { Clock } from '../../kernel/index.ts'
import { type Database, type MaybePromise, sql } from '../database/service.ts'
import { KEY_BLOCK } from './tables.ts'

const IDLE_MS = 5_000 // blocks that were not used for this long are dropped
const QUICK_MS = 100 // if the blocks are used up within this time, twice as many are fetched the next time
const MAX_BLOCKS = 64 // blocks per fetch

/** Fetches several blocks in one round trip. SQLite never runs it. */
const nextBlocks = sql('fhir.keys', {
  sqlite: 'SELECT 1 WHERE ? < 0',
  postgres: "SELECT nextval('resource_key') AS first FROM generate_series(1, ?::integer)",
})

export interface Keys {
  /** A key that no other resource has or will get. A promise only if keys must be fetched from the database. */
  take(): MaybePromise<number>
}

/** Counts up from `newest`, the largest key in the database. */
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
  /** `next` is the next key of a block, `end` the first key after the block. */
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
    // Fetches in the background. If it fails, the next create that finds no key fetches again and reports the error.
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
