/**
 * Compresses a large body in parts. A worker thread compresses the parts that do not depend on the version before the
 * transaction; inside it they are joined with the id and meta. The result is one gzip member, like that of a whole body.
 * RFC 1951, section 3.2.3: blocks that are not final may be followed by others. RFC 1952, section 2.3.
 */
import { constants, crc32, deflateRawSync } from 'node:zlib'
import { GZIP } from '../version-flags.ts'
import { combineCrc } from './combine-crc.ts'

/** A text compressed to deflate blocks, none of which is marked as final. */
export interface PackedPart {
  readonly bytes: Uint8Array
  /** CRC-32 of the uncompressed bytes; `length` is their number. */
  readonly crc: number
  readonly length: number
}

/** With a full flush a part ends at a byte boundary, and the next part makes no references to it: any part may follow. */
const OPTIONS = { level: 1, finishFlush: constants.Z_FULL_FLUSH } as const
/** Header of gzip: method deflate, no flags, no time, unknown system. */
const HEAD = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff])
/** An empty block that is marked as final. */
const END = Buffer.from([0x03, 0x00])
const TAIL_BYTES = 8
const LENGTH_BITS = 2 ** 32

export const packPart = (text: string): PackedPart => {
  const plain = Buffer.from(text, 'utf8')
  return { bytes: deflateRawSync(plain, OPTIONS), crc: crc32(plain), length: plain.length }
}

/** Joins the parts in order to the bytes of a row. `encoding`: bit of its column `flags`. */
export const joinParts = (parts: readonly PackedPart[]): { readonly bytes: Buffer; readonly encoding: number } => {
  let crc = 0
  let length = 0
  for (const part of parts) {
    crc = combineCrc(crc, part.crc, part.length)
    length += part.length
  }
  const tail = Buffer.alloc(TAIL_BYTES)
  tail.writeUInt32LE(crc, 0)
  tail.writeUInt32LE(length % LENGTH_BITS, 4)
  return { bytes: Buffer.concat([HEAD, ...parts.map(({ bytes }) => bytes), END, tail]), encoding: GZIP }
}
