/**
 * Marks keys that are being changed, on PostgreSQL, where reads and commits overlap: the result of a read may be cached
 * only if no commit can be missing from it.
 *
 * A transaction marks the keys that it changes before its COMMIT is sent, and ends the marks when its outcome is known. A
 * read calls `look` for its keys before it queries the database, and may cache the result if `isUnchanged` is true when the
 * result arrives. Then no transaction that changes these keys was under way or ended between the two calls, and the read
 * has seen all earlier ones. The next mark drops or invalidates the cached result before a COMMIT can outdate it, so the
 * cache never shows anything else than the database would.
 *
 * Where the outcome of a transaction is unknown its marks stay: its COMMIT may still be carried out while the epoch of the
 * writer lease lasts, which the fence compares. The next epoch settles it.
 *
 * Keys are hashes: a collision can only prevent caching.
 */
export interface ChangeMarks {
  /** A transaction is going to change rows of the key. Returns a ticket for `end`. */
  begin(key: number): number
  /**
   * The transaction is committed or rolled back. With its ticket: true if no other one with this key was under way since
   * `begin`.
   */
  end(key: number, ticket?: number): boolean
  /** Rows of the key have changed, and no read or other change overlapped. */
  count(key: number): void
  /** The outcome is unknown: the mark stays for the rest of the epoch. */
  lose(key: number): void
  /** Undefined while one of the keys is marked. */
  look(keys: readonly number[]): number | undefined
  /** Whether nothing has been marked under these keys since `look` returned this. */
  isUnchanged(keys: readonly number[], look: number): boolean
  /** Whether rows of the key are being changed. */
  isMarked(key: number): boolean
  /** Everything cached is invalid. Marks that were lost in an earlier epoch end. */
  forget(epoch: number): void
}

const NOT_ALONE = -1

/** `epoch`: that of the writer lease, 0 where there is none. Keys are integers below `places`. */
export const createChangeMarks = (epoch: number, places: number): ChangeMarks => {
  /** Counts the changes that were begun. */
  const begun = new Float64Array(places)
  const open = new Int32Array(places)
  const lost = new Int32Array(places)
  let current = epoch
  /** It grows with each change under one of the keys. */
  const sumOf = (keys: readonly number[]): number => {
    let sum = 0
    for (let at = 0; at < keys.length; at += 1) sum += begun[keys[at] as number] as number
    return sum
  }
  return {
    begin(key) {
      const isAlone = open[key] === 0
      open[key] = (open[key] as number) + 1
      begun[key] = (begun[key] as number) + 1
      return isAlone ? (begun[key] as number) : NOT_ALONE
    },
    end(key, ticket) {
      open[key] = (open[key] as number) - 1
      return begun[key] === ticket
    },
    count(key) {
      begun[key] = (begun[key] as number) + 1
    },
    lose(key) {
      lost[key] = (lost[key] as number) + 1
    },
    look(keys) {
      for (let at = 0; at < keys.length; at += 1) if (open[keys[at] as number] !== 0) return undefined
      return sumOf(keys)
    },
    isUnchanged: (keys, look) => sumOf(keys) === look,
    isMarked: (key) => open[key] !== 0,
    forget(next) {
      for (let at = 0; at < places; at += 1) begun[at] = (begun[at] as number) + 1
      if (next <= current) return
      current = next
      for (let at = 0; at < places; at += 1) open[at] = (open[at] as number) - (lost[at] as number)
      lost.fill(0)
    },
  }
}
