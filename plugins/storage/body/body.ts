/**
 * A body as it lies in the database: packed where that saves room. A large one is gzip, and a client that accepts gzip
 * gets the stored bytes untouched; a small one, in which little repeats, is packed with what small ones have in common.
 */
import { promisify } from 'node:util'
import { gunzip, gunzipSync, gzipSync } from 'node:zlib'
import { GZIP } from '../tables.ts'
import { deflate } from './deflate.ts'
import { lz } from './lz.ts'
import { SMALL_BYTES } from './small-codec.ts'

const MIN_BYTES = 96 // below this there is nothing to save
// A small window and little memory: setting zlib up costs more than compressing a resource. An answer that is not longer
// than SMALL_BYTES is one packet with gzip or without.
const GZIP_OPTIONS = { level: 1, windowBits: 12, memLevel: 5 } as const

const MAX_CHUNK = 1024 * 1024 // bytes that are unpacked in one go; their copy is made on the main thread

export interface StoredBody {
  readonly bytes: Buffer
  /** Bits of the column `flags`: GZIP, that of a codec of small bodies, or none. */
  readonly encoding: number
}

/** `codec`: of small bodies. */
export const compressBody = (text: string, codec = lz): StoredBody => {
  const plain = Buffer.from(text, 'utf8')
  if (plain.length < MIN_BYTES) return { bytes: plain, encoding: 0 }
  const isSmall = plain.length <= SMALL_BYTES
  // Node makes room for 16 kB otherwise, and the packed bytes would hold all of it for as long as they are kept.
  const packed = isSmall ? codec.compress(plain) : gzipSync(plain, { ...GZIP_OPTIONS, chunkSize: plain.length })
  return packed.length < plain.length
    ? { bytes: packed, encoding: isSmall ? codec.flag : GZIP }
    : { bytes: plain, encoding: 0 }
}

/** The last four bytes of gzip say how much it unpacks to. RFC 1952, section 2.3.1. */
const sizeOf = (packed: Buffer): number => packed.readUInt32LE(packed.length - 4)

const gunzipLater = promisify(gunzip)

/** The same of gzip by another thread. */
export const unpackLater = async (bytes: Buffer, flags: number): Promise<Buffer> =>
  (flags & GZIP) === 0
    ? decompressBody(bytes, flags)
    : gunzipLater(bytes, { chunkSize: Math.min(Math.max(sizeOf(bytes), 64), MAX_CHUNK) })

/** Bytes of the body once it is unpacked; undefined where that is known only by unpacking it. */
export const storedLength = (bytes: Buffer, form: number): number | undefined => {
  if ((form & lz.flag) !== 0) return lz.length(bytes)
  if ((form & GZIP) !== 0) return sizeOf(bytes)
  return (form & deflate.flag) === 0 ? bytes.length : deflate.length(bytes)
}

/** `flags` of its row. */
export const decompressBody = (bytes: Buffer, flags: number): Buffer => {
  if ((flags & lz.flag) !== 0) return lz.decompress(bytes)
  if ((flags & GZIP) !== 0) return gunzipSync(bytes, { chunkSize: Math.max(sizeOf(bytes), 64) })
  if ((flags & deflate.flag) !== 0) return deflate.decompress(bytes)
  return bytes
}
