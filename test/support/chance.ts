/** Numbers by chance that are the same for the same seed: Mulberry32. */

/** The function gives an integer of at least 0 and less than `below`. */
export const createChance = (seed: number): ((below: number) => number) => {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below)
  }
}
