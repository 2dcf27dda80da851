/**
 * What is known of access tokens, by their SHA-256: open addressing in typed arrays, about a hundred bytes for a token
 * beside its value, which tokens may share. Where the bytes are used up, tokens that were not used for long make room:
 * those that were not found since a hand last passed their slots.
 */

const FIRST_SLOTS = 1_024 // a power of two
const FULLEST = 0.75 // of the slots
const WORDS = 8 // of 32 bits, in a SHA-256
const SLOT_BYTES = WORDS * 4 + 8 + 4 + 1 + 8 // hash, expiry, version, whether it was used, reference to the value

/** `bytes`: the size of a value that no other token has; 0 for one that is shared. */
export interface KnownValue {
  readonly bytes: number
}

/** What is known of one token. */
export interface KnownToken<V> {
  readonly value: V
  /** Milliseconds since the epoch. */
  readonly expiresAt: number
  /** The version of the access changes in which it was read. */
  readonly version: number
}

/** `idHash`: SHA-256 of a token, in hexadecimal. */
export interface TokenMemory<V> {
  /** Looks for a token. Where it is found, the next three are its own until another method is called. */
  find(idHash: string): boolean
  value(): V
  expiresAt(): number
  version(): number
  /** Adds the token, or replaces what is known of it. */
  put(idHash: string, known: KnownToken<V>): void
  remove(idHash: string): void
  /** Tokens that are kept, and about how many bytes they take. */
  readonly size: number
  readonly bytes: number
}

/** The slots of a table; their number is a power of two. */
const createSlots = <V>(count: number) => ({
  count,
  hashes: new Uint32Array(count * WORDS),
  expiries: new Float64Array(count),
  versions: new Uint32Array(count),
  /** 1 when the token was found since the hand passed. */
  used: new Uint8Array(count),
  values: new Array<V | undefined>(count).fill(undefined),
})

type Slots<V> = ReturnType<typeof createSlots<V>>

/** The slot of the hash, or the free one where it belongs. */
const slotOf = <V>({ count, hashes, values }: Slots<V>, hash: Uint32Array): number => {
  const mask = count - 1
  let slot = (hash[0] as number) & mask
  while (values[slot] !== undefined) {
    const at = slot * WORDS
    let word = 0
    while (word < WORDS && hashes[at + word] === hash[word]) word += 1
    if (word === WORDS) return slot
    slot = (slot + 1) & mask
  }
  return slot
}

const copySlot = <V>(from: Slots<V>, source: number, to: Slots<V>, target: number): void => {
  to.hashes.set(from.hashes.subarray(source * WORDS, (source + 1) * WORDS), target * WORDS)
  to.expiries[target] = from.expiries[source] as number
  to.versions[target] = from.versions[source] as number
  to.used[target] = from.used[source] as number
  to.values[target] = from.values[source]
}

/** Frees a slot, and moves those behind it that would not be found any more. */
const freeSlot = <V>(slots: Slots<V>, slot: number): void => {
  const mask = slots.count - 1
  let free = slot
  for (let next = (slot + 1) & mask; slots.values[next] !== undefined; next = (next + 1) & mask) {
    const home = (slots.hashes[next * WORDS] as number) & mask
    if (((next - home) & mask) < ((next - free) & mask)) continue
    copySlot(slots, next, slots, free)
    free = next
  }
  slots.values[free] = undefined
}

/** `maxBytes` bounds what is kept, but for the value of the last token. */
export const createTokenMemory = <V extends KnownValue>(maxBytes: number): TokenMemory<V> => {
  const wanted = new Uint32Array(WORDS)
  const wantedBytes = Buffer.from(wanted.buffer)
  let slots = createSlots<V>(FIRST_SLOTS)
  let size = 0
  /** Of the values. */
  let ownBytes = 0
  /** The slot where the last token was found. */
  let at = 0
  let hand = 0

  const readHash = (idHash: string): void => void wantedBytes.write(idHash, 'hex')
  const bytes = (): number => slots.count * SLOT_BYTES + ownBytes
  const removeAt = (slot: number): void => {
    ownBytes -= slots.values[slot]?.bytes ?? 0
    size -= 1
    freeSlot(slots, slot)
  }
  /** Removes one token. The hand stays, because another one may have moved into its slot. */
  const makeRoom = (): void => {
    for (;;) {
      if (slots.values[hand] !== undefined) {
        if (slots.used[hand] === 0) {
          removeAt(hand)
          return
        }
        slots.used[hand] = 0
      }
      hand = (hand + 1) & (slots.count - 1)
    }
  }
  const grow = (): void => {
    const before = slots
    slots = createSlots(before.count * 2)
    for (let slot = 0; slot < before.count; slot += 1) {
      if (before.values[slot] === undefined) continue
      const hash = before.hashes.subarray(slot * WORDS, (slot + 1) * WORDS)
      copySlot(before, slot, slots, slotOf(slots, hash))
    }
    hand = 0
  }
  const prepare = (more: number): void => {
    const isFull = (): boolean => size >= slots.count * FULLEST
    if (isFull() && bytes() + slots.count * SLOT_BYTES + more <= maxBytes) grow()
    while (size > 0 && (isFull() || bytes() + more > maxBytes)) makeRoom()
  }
  return {
    find(idHash) {
      readHash(idHash)
      at = slotOf(slots, wanted)
      if (slots.values[at] === undefined) return false
      slots.used[at] = 1
      return true
    },
    value: () => slots.values[at] as V,
    expiresAt: () => slots.expiries[at] as number,
    version: () => slots.versions[at] as number,
    put(idHash, { value, expiresAt, version }) {
      readHash(idHash)
      at = slotOf(slots, wanted)
      if (slots.values[at] === undefined) {
        prepare(value.bytes)
        at = slotOf(slots, wanted)
        slots.hashes.set(wanted, at * WORDS)
        size += 1
      }
      ownBytes += value.bytes - (slots.values[at]?.bytes ?? 0)
      slots.values[at] = value
      slots.expiries[at] = expiresAt
      slots.versions[at] = version
      slots.used[at] = 1
    },
    remove(idHash) {
      readHash(idHash)
      at = slotOf(slots, wanted)
      if (slots.values[at] !== undefined) removeAt(at)
    },
    get size() {
      return size
    },
    get bytes() {
      return bytes()
    },
  }
}
