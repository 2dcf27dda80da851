/** Chance that repeats: the same seed gives the same numbers on every machine. Mulberry32. */

export interface SeededRandom {
  /** 0 ≤ x < 1 */
  next(): number
  /** A whole number, 0 ≤ n < below. */
  int(below: number): number
  pick<T>(list: readonly T[]): T
  chance(probability: number): boolean
  bytes(count: number): Buffer
}

export const createSeededRandom = (seed: number): SeededRandom => {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const int = (below: number): number => Math.floor(next() * below)
  return {
    next,
    int,
    pick: (list) => list[int(list.length)] as (typeof list)[number],
    chance: (probability) => next() < probability,
    bytes: (count) => Buffer.from(Array.from({ length: count }, () => int(256))),
  }
}
