/**
 * A Bloom filter: says that a key is certainly not in a set, or that it may be. For about one in a hundred keys outside
 * the set it says "may be". https://doi.org/10.1145/362686.362692
 */
const BITS_PER_KEY = 10
const PROBES = 7 // optimal for ten bits per key
const MIN_BYTES = 8

/** Columns by which rows are found. The numbers are part of stored filters: add new ones, never change them. */
export type KeyColumn = 'patient' | 'id' | 'client' | 'person'

const SEEDS: Readonly<Record<KeyColumn, number>> = {
  patient: 0x2f0b4c47,
  id: 0x51ed270b,
  client: 0x7c3a19d5,
  person: 0x1b873593,
}

/** Finalizer of a hash: spreads differences in few bits over all bits. */
const mixed = (value: number): number => {
  let one = value
  one = Math.imul(one ^ (one >>> 16), 0x85ebca6b)
  one = Math.imul(one ^ (one >>> 13), 0xc2b2ae35)
  return (one ^ (one >>> 16)) | 0
}

/** Hashes the value of a column to 32 bits. */
export const filterKeyOf = (column: KeyColumn, value: Uint8Array | string): number => {
  let key = SEEDS[column]
  if (typeof value === 'string')
    for (let at = 0; at < value.length; at += 1) key = Math.imul(key ^ value.charCodeAt(at), 0x01000193)
  else for (let at = 0; at < value.length; at += 1) key = Math.imul(key ^ (value[at] as number), 0x01000193)
  return mixed(key)
}

const firstProbe = (key: number): number => key >>> 0
const probeStep = (key: number): number => (mixed(key ^ 0x5bd1e995) | 1) >>> 0

export const createBloomFilter = (keys: ReadonlySet<number>): Buffer => {
  const filter = Buffer.alloc(Math.max(MIN_BYTES, Math.ceil((keys.size * BITS_PER_KEY) / 8)))
  const bits = filter.length * 8
  for (const key of keys) {
    const step = probeStep(key) % bits
    for (let count = 0, bit = firstProbe(key) % bits; count < PROBES; count += 1, bit = (bit + step) % bits)
      filter[bit >>> 3] = (filter[bit >>> 3] as number) | (1 << (bit & 7))
  }
  return filter
}

export const mayContain = (filter: Uint8Array, key: number): boolean => {
  const bits = filter.length * 8
  const step = probeStep(key) % bits
  for (let count = 0, bit = firstProbe(key) % bits; count < PROBES; count += 1, bit = (bit + step) % bits)
    if (((filter[bit >>> 3] as number) & (1 << (bit & 7))) === 0) return false
  return true
}
