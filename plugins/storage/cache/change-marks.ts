/**
 * Notes what changes while it is being read, on PostgreSQL, where reads and commits overlap: what a read has found may be
 * kept only if it is certain that nothing that was committed, or will be, is missing from it.
 *
 * A transaction marks the keys of what it changes before its COMMIT is sent, and ends the marks when it is known how it
 * ended. A read takes `look` of its key before it asks the database, and may keep what it found if `isUnchanged` is true when
 * the answer is there. Then no transaction that changes this key ended, was sent, or was under way between the two, and
 * all that were before it are visible to it. What is kept is dropped, or no longer valid, with the next mark, which is
 * before the COMMIT can change it. So memory never shows anything else than the database would.
 *
 * Where nobody knows how a transaction ended, its marks stay: its COMMIT may be carried out later, for as long as the epoch
 * of the writer lease lasts, which the fence compares. The next epoch settles it.
 *
 * Keys are hashes: a collision only keeps something from being kept.
 */
export interface ChangeMarks {
  /** A transaction is going to change what is under the key. Returns a ticket for `end`. */
  begin(key: number): number
  /**
   * It is committed or undone. With its ticket: true if no other one with this key was under way at any time since its
   * beginning.
   */
  end(key: number, ticket?: number): boolean
  /** Something under the key has changed, and nothing overlapped with that. */
  count(key: number): void
  /** Nobody knows whether it is committed: the mark stays for the rest of the epoch. */
  lose(key: number): void
  /** Undefined while something under one of the keys is being changed. */
  look(keys: readonly number[]): number | undefined
  /** Whether nothing has been marked under these keys since `look` returned this. */
  isUnchanged(keys: readonly number[], look: number): boolean
  /** Whether something under the key is being changed. */
  isMarked(key: number): boolean
  /** All that was kept is invalid. Marks that were lost in an earlier epoch end. */
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
