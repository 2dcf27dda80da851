/**
 * A body packed in parts: what does not depend on the version is compressed before the transaction, by another thread,
 * and put together with the rest inside it. The result is one gzip member, as if it had been packed as a whole.
 * RFC 1951, section 3.2.3: blocks that are not final may be followed by others. RFC 1952, section 2.3.
 */
import { constants, crc32, deflateRawSync } from 'node:zlib'
import { GZIP } from '../tables.ts'
import { combineCrc } from './combine-crc.ts'

/** Some text, compressed to blocks of which none is final. */
export interface PackedPart {
  readonly bytes: Uint8Array
  /** CRC-32 and length of the plain bytes. */
  readonly crc: number
  readonly length: number
}

/** Ends at a byte and refers to nothing before it, so that any other part may come next. */
const OPTIONS = { level: 1, finishFlush: constants.Z_FULL_FLUSH } as const
/** Deflate, no flags, no time, no name, system unknown. */
const HEAD = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff])
/** A final block without content. */
const END = Buffer.from([0x03, 0x00])
const TAIL_BYTES = 8
const LENGTH_BITS = 2 ** 32

export const packPart = (text: string): PackedPart => {
  const plain = Buffer.from(text, 'utf8')
  return { bytes: deflateRawSync(plain, OPTIONS), crc: crc32(plain), length: plain.length }
}

/** All parts in order as the bytes of a row, and the bits of its column `flags`. */
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
