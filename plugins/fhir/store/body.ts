/**
 * A body as it lies in the database: packed where that saves room. A large one is gzip, and a client that accepts gzip
 * gets the stored bytes untouched; a small one, in which little repeats, is packed with what small ones have in common.
 */
import { deflateRawSync, gunzipSync, gzipSync, inflateRawSync } from 'node:zlib'
import { DICTIONARY } from './dictionary.ts'
import { GZIP, SMALL } from './tables.ts'

const LEAST_BYTES = 96 // below this there is nothing to save
const SMALL_BYTES = 1_400 // up to here an answer is one packet with gzip or without
// A small window and little memory: setting zlib up costs more than compressing a resource.
const GZIP_OPTIONS = { level: 1, windowBits: 12, memLevel: 5 } as const
// The window holds the dictionary and a small body.
const SMALL_OPTIONS = { level: 1, windowBits: 13, memLevel: 6, dictionary: DICTIONARY } as const
const UNPACK_SMALL = { windowBits: 13, dictionary: DICTIONARY, chunkSize: SMALL_BYTES } as const

export interface StoredBody {
  readonly bytes: Buffer
  /** Bits of the column `flags`: GZIP, SMALL or none. */
  readonly form: number
}

export const packBody = (text: string): StoredBody => {
  const plain = Buffer.from(text, 'utf8')
  if (plain.length < LEAST_BYTES) return { bytes: plain, form: 0 }
  const isSmall = plain.length <= SMALL_BYTES
  // Node makes room for 16 kB otherwise, and the packed bytes would hold all of it for as long as they are kept.
  const packed = isSmall
    ? deflateRawSync(plain, { ...SMALL_OPTIONS, chunkSize: Math.max(64, plain.length >> 1) })
    : gzipSync(plain, { ...GZIP_OPTIONS, chunkSize: plain.length })
  return packed.length < plain.length ? { bytes: packed, form: isSmall ? SMALL : GZIP } : { bytes: plain, form: 0 }
}

/** The last four bytes of gzip say how much it unpacks to. RFC 1952, section 2.3.1. */
const sizeOf = (packed: Buffer): number => packed.readUInt32LE(packed.length - 4)

/** `flags` of its row. */
export const unpackBody = (bytes: Buffer, flags: number): Buffer => {
  if ((flags & SMALL) !== 0) return inflateRawSync(bytes, UNPACK_SMALL)
  if ((flags & GZIP) !== 0) return gunzipSync(bytes, { chunkSize: Math.max(sizeOf(bytes), 64) })
  return bytes
}
