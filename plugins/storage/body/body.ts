/**
 * Compresses bodies for the database, where that saves space. A body above SMALL_BYTES is stored as gzip, and a client that
 * accepts gzip gets the stored bytes unchanged. A smaller one repeats too little for gzip, so it is compressed with a
 * dictionary of text that small bodies have in common.
 */
import { promisify } from 'node:util'
import { gunzip, gunzipSync, gzipSync } from 'node:zlib'
import { GZIP } from '../version-flags.ts'
import { deflate } from './deflate.ts'
import { lz } from './lz.ts'
import { SMALL_BYTES } from './small-codec.ts'

const MIN_BYTES = 96 // a shorter body is stored as it is: compression would save nothing
// A small window and little memory, because the setup of zlib takes longer than compressing a resource. Bodies up to
// SMALL_BYTES need no gzip for the network either: such an answer fits into one packet.
const GZIP_OPTIONS = { level: 1, windowBits: 12, memLevel: 5 } as const

const MAX_CHUNK = 1024 * 1024 // bytes decompressed per step; the main thread copies each step, so this bounds its pause

export interface StoredBody {
  readonly bytes: Buffer
  /** The bit of the column `flags` that names the encoding: GZIP, the flag of a small codec, or 0 for uncompressed bytes. */
  readonly encoding: number
}

/** `codec` compresses bodies up to SMALL_BYTES. */
export const compressBody = (text: string, codec = lz): StoredBody => {
  const plain = Buffer.from(text, 'utf8')
  if (plain.length < MIN_BYTES) return { bytes: plain, encoding: 0 }
  const isSmall = plain.length <= SMALL_BYTES
  // Without `chunkSize` Node allocates 16 kB for the result, and a small result in a cache would retain all of it.
  const packed = isSmall ? codec.compress(plain) : gzipSync(plain, { ...GZIP_OPTIONS, chunkSize: plain.length })
  return packed.length < plain.length
    ? { bytes: packed, encoding: isSmall ? codec.flag : GZIP }
    : { bytes: plain, encoding: 0 }
}

/** Length of the decompressed bytes, which the last four bytes of gzip give. RFC 1952, section 2.3.1. */
const sizeOf = (packed: Buffer): number => packed.readUInt32LE(packed.length - 4)

const gunzipLater = promisify(gunzip)

/** Like `decompressBody`, but gzip is decompressed in the thread pool of Node. */
export const unpackLater = async (bytes: Buffer, flags: number): Promise<Buffer> =>
  (flags & GZIP) === 0
    ? decompressBody(bytes, flags)
    : gunzipLater(bytes, { chunkSize: Math.min(Math.max(sizeOf(bytes), 64), MAX_CHUNK) })

/** Length of the decompressed body in bytes; undefined if only decompressing would show it. `form`: bits of the column `flags`. */
export const storedLength = (bytes: Buffer, form: number): number | undefined => {
  if ((form & lz.flag) !== 0) return lz.length(bytes)
  if ((form & GZIP) !== 0) return sizeOf(bytes)
  return (form & deflate.flag) === 0 ? bytes.length : deflate.length(bytes)
}

/** `flags`: the column of the row. Throws if the bytes are damaged. */
export const decompressBody = (bytes: Buffer, flags: number): Buffer => {
  if ((flags & lz.flag) !== 0) return lz.decompress(bytes)
  if ((flags & GZIP) !== 0) return gunzipSync(bytes, { chunkSize: Math.max(sizeOf(bytes), 64) })
  if ((flags & deflate.flag) !== 0) return deflate.decompress(bytes)
  return bytes
}
