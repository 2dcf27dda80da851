/**
 * Compresses small bodies by zlib with the dictionary. Earlier builds stored bodies in this form, so they must still be read;
 * new ones are stored with lz.ts, which takes a third of the time. RFC 1951
 */
import { deflateRawSync, inflateRawSync } from 'node:zlib'
import { DEFLATED } from '../version-flags.ts'
import { DICTIONARY } from './dictionary.ts'
import { SMALL_BYTES, type SmallCodec } from './small-codec.ts'

const OPTIONS = { windowBits: 13, dictionary: DICTIONARY, chunkSize: SMALL_BYTES } as const

export const deflate: SmallCodec = {
  flag: DEFLATED,
  compress: (plain) => deflateRawSync(plain, { ...OPTIONS, level: 1, memLevel: 5 }),
  decompress: (packed) => inflateRawSync(packed, OPTIONS),
  length: () => undefined,
}
