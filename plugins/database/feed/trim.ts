/** Removes rows of the feed that every server has read, or will not read any more: those of more than ten minutes ago. */
import { type Clock, every, type Logger, type Repeating } from '../../../kernel/index.ts'
import { type Database, sql } from '../contract.ts'

const KEPT_MS = 600_000
const TRIM_MS = 30_000

const removeChanges = sql('feed.trim', 'DELETE FROM cluster_change WHERE seq <= ?')

export interface TrimParts {
  readonly database: Pick<Database, 'transact'>
  readonly clock: Clock
  /** Number of the newest commit. */
  readonly seq: () => number
  readonly log: Logger
}

export const createTrim = ({ database, clock, seq, log }: TrimParts): Repeating => {
  /** How far the commits were at earlier times, oldest first. */
  let places: readonly { readonly at: number; readonly seq: number }[] = [{ at: clock.monotonic(), seq: seq() }]
  const trim = async (): Promise<void> => {
    const now = clock.monotonic()
    places = [...places, { at: now, seq: seq() }]
    const old = places.filter(({ at }) => now - at >= KEPT_MS)
    const last = old.at(-1)
    if (last === undefined) return
    await database.transact((transaction) => transaction.run(removeChanges, [last.seq]), { asynchronousCommit: true })
    places = places.slice(old.length)
  }
  return every(clock, TRIM_MS, trim, (error) => log.debug({ err: error }, 'old rows of the feed could not be removed'))
}
