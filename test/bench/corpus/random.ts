/** Numbers that look random and are the same in every run, so that two runs store the same bytes. */

export interface Dice {
  /** 0 ≤ n < most, whole. */
  below(most: number): number
  pick<T>(list: readonly T[]): T
  /** Decimal with `digits` after the point, as text. */
  decimal(least: number, most: number, digits: number): string
  /** A day between two years, and a time on it. */
  day(first: number, last: number): string
  instant(first: number, last: number): string
  uuid(): string
}

/** A linear congruential generator with a mixed output (splitmix32). */
export const createDice = (seed: number): Dice => {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x9e3779b9) >>> 0
    let mixed = state
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x21f0aaad)
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97)
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 4_294_967_296
  }
  const below = (most: number): number => Math.floor(next() * most)
  const moment = (first: number, last: number): Date =>
    new Date(Date.UTC(first, 0, 1) + Math.floor(next() * (Date.UTC(last, 0, 1) - Date.UTC(first, 0, 1))))
  const hex = (length: number): string => Array.from({ length }, () => below(16).toString(16)).join('')
  return {
    below,
    pick: (list) => list[below(list.length)] as (typeof list)[number],
    decimal: (least, most, digits) => (least + next() * (most - least)).toFixed(digits),
    day: (first, last) => moment(first, last).toISOString().slice(0, 10),
    instant: (first, last) => `${moment(first, last).toISOString().slice(0, 19)}+00:00`,
    uuid: () => `${hex(8)}-${hex(4)}-4${hex(3)}-a${hex(3)}-${hex(12)}`,
  }
}
