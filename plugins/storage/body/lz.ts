/**
 * Compresses small bodies with an LZ codec: text that the dictionary or the body has already is replaced by a copy command, and
 * a UUID is stored as 16 bytes. zlib and zstd with the same dictionary spend most of their time on setup. Measured against
 * them, this codec compresses in a third of the time and decompresses in a fourth (zlib) and a seventh (zstd); its result is
 * three eighths larger than that of zlib (deflate.ts) and a fourth larger than that of zstd.
 *
 * The format begins with two numbers of two bytes each, low byte first: the length of the uncompressed body, and the lower
 * half of its CRC-32. Then come commands, each beginning with one byte c:
 * - c ≤ 126: c + 1 literal bytes follow.
 * - c = 127: a UUID follows in 16 bytes.
 * - c ≥ 128: copy c − 124 bytes. Their position follows in two bytes, low byte first. It counts from the start of the
 *   dictionary, and continues after its end through the bytes that are already decompressed.
 *
 * Never change the format, because bodies in the database have it.
 */
import { Buffer } from 'node:buffer'
import { crc32 } from 'node:zlib'
import { LZ } from '../version-flags.ts'
import { DICTIONARY } from './dictionary.ts'
import { SMALL_BYTES, type SmallCodec } from './small-codec.ts'

const HEAD_BYTES = 4
const MAX_PLAIN = 127
const UUID = 127
const COPY = 128
const MIN_COPY = 4 // a copy command takes three bytes, so a shorter copy saves nothing
const MAX_COPY = 127 + MIN_COPY
const WORTHY_COPY = 17 // at a UUID a copy of at least this length is preferred to the command UUID, which takes 17 bytes
const START = DICTIONARY.length
const HASH_BITS = 13
const OWN_BITS = 10

const UUID_CHARS = 36
const UUID_BYTES = 16
const HYPHEN = 0x2d
const FIRST_HYPHEN = 8
const DIGITS = Buffer.from('0123456789abcdef')
const NO_DIGIT = 16
/** Value of a byte as a lower-case hexadecimal digit; NO_DIGIT for other bytes. Upper case would not survive the UUID command. */
const VALUES = new Uint8Array(256).fill(NO_DIGIT)
for (const [value, digit] of DIGITS.entries()) VALUES[digit] = value
const valueAt = (bytes: Uint8Array, at: number): number => VALUES[bytes[at] as number] as number

/** Hash of the four bytes at `at`, in HASH_BITS bits. */
const hash = (bytes: Uint8Array, at: number): number => {
  const low = (bytes[at] as number) | ((bytes[at + 1] as number) << 8)
  const high = (bytes[at + 2] as number) | ((bytes[at + 3] as number) << 8)
  return Math.imul(low | (high << 16), 0x9e3779b1) >>> (32 - HASH_BITS)
}

/** Position in the dictionary by hash. The last position with a hash wins, because frequent text is at the end. */
const KNOWN = new Uint16Array(2 ** HASH_BITS)
for (let at = 0; at + MIN_COPY <= START; at += 1) KNOWN[hash(DICTIONARY, at)] = at

/**
 * Position in the body that is being compressed, plus one, by hash; 0 for none. One array is shared by all calls, because
 * allocating it would take as long as compressing a body.
 */
const SEEN = new Uint16Array(2 ** OWN_BITS)

/** Number of equal bytes in `bytes` from `at` to `end` and in `others` from `from`, at most MAX_COPY. */
const sameLength = (bytes: Uint8Array, at: number, end: number, others: Uint8Array, from: number): number => {
  const most = Math.min(end - at, others.length - from, MAX_COPY)
  let length = 0
  while (length < most && bytes[at + length] === others[from + length]) length += 1
  return length
}

const isUuid = (bytes: Uint8Array, start: number): boolean => {
  if (start < 0 || start + UUID_CHARS > bytes.length) return false
  for (let at = 0; at < UUID_CHARS; at += 1) {
    const isHyphen = at === 8 || at === 13 || at === 18 || at === 23
    if (isHyphen ? bytes[start + at] !== HYPHEN : valueAt(bytes, start + at) === NO_DIGIT) return false
  }
  return true
}

/** Index of the first UUID at or after `at`; the length of `bytes` if there is none. */
const nextUuid = (bytes: Buffer, at: number): number => {
  for (let from = at + FIRST_HYPHEN; ; ) {
    const hyphen = bytes.indexOf(HYPHEN, from)
    if (hyphen === -1) return bytes.length
    if (isUuid(bytes, hyphen - FIRST_HYPHEN)) return hyphen - FIRST_HYPHEN
    from = hyphen + 1
  }
}

// Each of the functions `put…` writes commands to `packed` at index `length`, and returns the index after them.

const putPlain = (packed: Uint8Array, length: number, plain: Uint8Array, start: number, end: number): number => {
  let next = length
  for (let at = start; at < end; ) {
    const count = Math.min(end - at, MAX_PLAIN)
    packed[next++] = count - 1
    for (let n = 0; n < count; n += 1) packed[next++] = plain[at++] as number
  }
  return next
}

const putUuid = (packed: Uint8Array, length: number, plain: Uint8Array, start: number): number => {
  let next = length
  packed[next++] = UUID
  for (let at = start; at < start + UUID_CHARS; at += 2) {
    if (plain[at] === HYPHEN) at += 1
    packed[next++] = (valueAt(plain, at) << 4) | valueAt(plain, at + 1)
  }
  return next
}

const putCopy = (packed: Uint8Array, length: number, size: number, place: number): number => {
  packed[length] = COPY + size - MIN_COPY
  packed[length + 1] = place & 255
  packed[length + 2] = place >> 8
  return length + 3
}

/** Number of equal bytes directly before two positions, at most `most`. */
const sameBefore = (bytes: Uint8Array, at: number, others: Uint8Array, from: number, most: number): number => {
  let size = 0
  while (size < most && bytes[at - size - 1] === others[from - size - 1]) size += 1
  return size
}

const compress = (plain: Buffer): Buffer => {
  const packed = Buffer.allocUnsafe(HEAD_BYTES + plain.length + Math.ceil(plain.length / MAX_PLAIN))
  packed.writeUInt16LE(plain.length, 0)
  packed.writeUInt16LE(crc32(plain) & 0xffff, 2)
  let length = HEAD_BYTES
  /** Index in `plain` up to which commands have been written. */
  let done = 0
  SEEN.fill(0)
  let uuid = nextUuid(plain, 0)
  for (let at = 0; at + MIN_COPY <= plain.length; ) {
    const isAtUuid = at === uuid
    // A copy must end before the next UUID: one that ends inside it would keep the rest of the UUID from being stored as bytes.
    if (isAtUuid) uuid = nextUuid(plain, at + UUID_CHARS)
    const key = hash(plain, at)
    const own = SEEN[key >>> (HASH_BITS - OWN_BITS)] as number
    SEEN[key >>> (HASH_BITS - OWN_BITS)] = at + 1
    let others: Uint8Array = DICTIONARY
    let from = KNOWN[key] as number
    let size = sameLength(plain, at, uuid, others, from)
    const ownSize = own === 0 ? 0 : sameLength(plain, at, uuid, plain, own - 1)
    if (ownSize > size) {
      others = plain
      from = own - 1
      size = ownSize
    }
    if (isAtUuid && size < WORTHY_COPY) {
      length = putPlain(packed, length, plain, done, at)
      length = putUuid(packed, length, plain, at)
      at += UUID_CHARS
      done = at
    } else if (size < MIN_COPY) at += 1
    else {
      const before = sameBefore(plain, at, others, from, Math.min(at - done, from, MAX_COPY - size))
      length = putPlain(packed, length, plain, done, at - before)
      length = putCopy(packed, length, size + before, from - before + (others === plain ? START : 0))
      at += size
      done = at
    }
  }
  length = putPlain(packed, length, plain, done, plain.length)
  // Copied to a buffer of exactly its size, because a cache may hold it for long and would retain the larger one.
  const exact = Buffer.allocUnsafeSlow(length)
  packed.copy(exact, 0, 0, length)
  return exact
}

const damaged = (): Error => new Error('a small body is damaged in the database')

/** The dictionary, followed by the body that is being decompressed, so that one position addresses both. Shared by all calls. */
const SPACE = Buffer.concat([DICTIONARY, Buffer.alloc(SMALL_BYTES)])
/** A view of SPACE for copying four bytes at a time. */
const WORDS = new DataView(SPACE.buffer, SPACE.byteOffset, SPACE.length)
const WORD = 4

/** Copies `size` bytes inside SPACE to a later position. If source and target overlap, the copied bytes repeat. */
const copyWithin = (place: number, to: number, size: number): void => {
  let from = place
  let at = to
  const end = to + size
  if (at - from >= WORD)
    for (; at + WORD <= end; at += WORD, from += WORD) WORDS.setInt32(at, WORDS.getInt32(from, true), true)
  while (at < end) SPACE[at++] = SPACE[from++] as number
}

const lengthOf = (packed: Buffer): number => {
  if (packed.length < HEAD_BYTES) throw damaged()
  return packed.readUInt16LE(0)
}

/** Throws for damaged bytes, detected by the CRC: a wrong digit must not be returned as a measured value. */
const decompress = (packed: Buffer): Buffer => {
  if (packed.length < HEAD_BYTES) throw damaged()
  const end = START + packed.readUInt16LE(0)
  if (end > SPACE.length) throw damaged()
  let next = START
  for (let at = HEAD_BYTES; at < packed.length; ) {
    const command = packed[at++] as number
    const size = command < UUID ? command + 1 : command === UUID ? UUID_CHARS : command - COPY + MIN_COPY
    if (next + size > end) throw damaged()
    if (command < UUID) {
      for (let n = 0; n < size; n += 1) SPACE[next++] = packed[at++] as number
    } else if (command === UUID) {
      for (let n = 0; n < UUID_BYTES; n += 1) {
        if (n === 4 || n === 6 || n === 8 || n === 10) SPACE[next++] = HYPHEN
        const byte = packed[at++] as number
        SPACE[next++] = DIGITS[byte >> 4] as number
        SPACE[next++] = DIGITS[byte & 15] as number
      }
    } else {
      const place = (packed[at] as number) | ((packed[at + 1] as number) << 8)
      at += 2
      // Bytes from `next` on are left over from another body and must not be copied.
      if (place >= next) throw damaged()
      copyWithin(place, next, size)
      next += size
    }
  }
  const plain = Buffer.allocUnsafe(end - START)
  SPACE.copy(plain, 0, START, end)
  if (next !== end || (crc32(plain) & 0xffff) !== packed.readUInt16LE(2)) throw damaged()
  return plain
}

export const lz: SmallCodec = { flag: LZ, compress, decompress, length: lengthOf }
