/**
 * Keys by which many searches are filed, so that a change is tested only against those that it may concern: a value of a
 * column that a resource must have to match. A resource has a key for each of its rows that can be asked for so.
 */
import { type IndexEntries, REFERENCE_COLUMNS, TOKEN_COLUMNS } from '../index/index-entries.ts'

export interface MatchKey {
  readonly kind: 'id' | 'reference' | 'token'
  /** Number of the column, 0 for an id. */
  readonly column: number
  readonly value: number
  /** Of a token; undefined: whatever system. */
  readonly system: number | undefined
}

/** Column of ids: no column has this number. */
const ID_COLUMN = 0
/** In place of a system: no hash of one is that large. */
const ANY_SYSTEM = 2 ** 33

export const idKey = (value: number): MatchKey => ({ kind: 'id', column: ID_COLUMN, value, system: undefined })

/** How much a key tells: the smaller, the fewer resources have it. */
const rankOf = ({ kind, system }: MatchKey): number =>
  kind === 'id' ? 0 : kind === 'reference' ? 1 : system === undefined ? 3 : 2
const weakest = (keys: readonly MatchKey[]): number => keys.reduce((rank, key) => Math.max(rank, rankOf(key)), 0)

/** Of several lists, each of which must hit, the one that tells most. */
export const mostTelling = (lists: readonly (readonly MatchKey[])[]): readonly MatchKey[] | undefined =>
  lists.toSorted((one, other) => weakest(one) - weakest(other) || one.length - other.length)[0]

/** 52 bits of three numbers: equal keys have equal numbers, others hardly ever, which costs a test and nothing else. */
const mix = (column: number, value: number, system: number): number => {
  let h1 = 0x9e3779b1 ^ column
  let h2 = 0x85ebca6b ^ column
  for (const part of [value >>> 0, Math.floor(value / 2 ** 32) | 0, system >>> 0, Math.floor(system / 2 ** 32) | 0]) {
    h1 = Math.imul(h1 ^ part, 2654435761)
    h2 = Math.imul(h2 ^ part, 1597334677)
    h1 ^= h1 >>> 15
    h2 ^= h2 >>> 13
  }
  h1 = Math.imul(h1 ^ (h1 >>> 16), 2246822507) ^ Math.imul(h2 ^ (h2 >>> 13), 3266489909)
  h2 = Math.imul(h2 ^ (h2 >>> 16), 2246822507) ^ Math.imul(h1 ^ (h1 >>> 13), 3266489909)
  return (h2 & 0xfffff) * 2 ** 32 + (h1 >>> 0)
}

export const toNumber = ({ column, value, system }: MatchKey): number => mix(column, value, system ?? ANY_SYSTEM)

/** Of a resource: each of its keys once. `id` is hashed as values of columns are. */
export const keysOf = (id: number, { token, reference }: IndexEntries): readonly number[] => {
  const keys = new Set([toNumber(idKey(id))])
  for (let at = 0; at < token.length; at += TOKEN_COLUMNS) {
    const [column, value, system] = [token[at], token[at + 1], token[at + 2]] as [number, number, number]
    keys.add(mix(column, value, system))
    keys.add(mix(column, value, ANY_SYSTEM))
  }
  for (let at = 0; at < reference.length; at += REFERENCE_COLUMNS)
    keys.add(mix(reference[at] as number, reference[at + 1] as number, ANY_SYSTEM))
  return [...keys]
}
