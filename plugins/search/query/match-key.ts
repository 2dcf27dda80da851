/**
 * Keys under which many queries can be filed, so that a change is tested only against queries that it may match. A
 * key is a value of a column that a resource must have to match. A resource has one key for each of its index rows
 * that a query may name.
 */
import { type IndexEntries, REFERENCE_COLUMNS, TOKEN_COLUMNS } from '../index/index-entries.ts'

export interface MatchKey {
  readonly kind: 'id' | 'reference' | 'token'
  /** Code of the column, 0 for an id. */
  readonly column: number
  readonly value: number
  /** Only of a token; undefined matches any system. */
  readonly system: number | undefined
}

/** Stands for ids; no column has this code. */
const ID_COLUMN = 0
/** Used in place of a system for keys that match any. Larger than the hash of any system. */
const ANY_SYSTEM = 2 ** 33

export const idKey = (value: number): MatchKey => ({ kind: 'id', column: ID_COLUMN, value, system: undefined })

/** Ranks keys: the lower, the fewer resources have such a key. */
const rankOf = ({ kind, system }: MatchKey): number =>
  kind === 'id' ? 0 : kind === 'reference' ? 1 : system === undefined ? 3 : 2
const weakest = (keys: readonly MatchKey[]): number => keys.reduce((rank, key) => Math.max(rank, rankOf(key)), 0)

/** The most selective of several lists, in each of which a match has a key. */
export const mostSelective = (lists: readonly (readonly MatchKey[])[]): readonly MatchKey[] | undefined =>
  lists.toSorted((one, other) => weakest(one) - weakest(other) || one.length - other.length)[0]

/**
 * A 32-bit hash of the three numbers, signed, because V8 holds and finds such numbers without a heap object. A collision costs one
 * needless test.
 */
const mix = (column: number, value: number, system: number): number => {
  let hash = 0x9e3779b1 ^ column
  hash = scramble(hash ^ (value >>> 0))
  hash = scramble(hash ^ (Math.floor(value / 2 ** 32) | 0))
  hash = scramble(hash ^ (system >>> 0))
  return scramble(hash ^ (Math.floor(system / 2 ** 32) | 0))
}

/** The mixing of MurmurHash3: each bit of the result depends on each of the number. */
const scramble = (number: number): number => {
  let hash = Math.imul(number ^ (number >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return hash ^ (hash >>> 16)
}

export const toNumber = ({ column, value, system }: MatchKey): number => mix(column, value, system ?? ANY_SYSTEM)

/** The keys of a resource; some may be there twice. `id` is hashed like a column value. */
export const keysOf = (id: number, { token, reference }: IndexEntries): readonly number[] => {
  const keys = [toNumber(idKey(id))]
  for (let at = 0; at < token.length; at += TOKEN_COLUMNS) {
    const column = token[at] as number
    const value = token[at + 1] as number
    keys.push(mix(column, value, token[at + 2] as number), mix(column, value, ANY_SYSTEM))
  }
  for (let at = 0; at < reference.length; at += REFERENCE_COLUMNS)
    keys.push(mix(reference[at] as number, reference[at + 1] as number, ANY_SYSTEM))
  return keys
}
