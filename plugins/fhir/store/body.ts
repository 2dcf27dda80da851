/**
 * A body as it lies in the database: gzip where that saves room. A client that accepts gzip gets the stored bytes
 * untouched.
 */
import { gunzipSync, gzipSync } from 'node:zlib'

const WORTH_BYTES = 512 // below this the gzip frame eats what it saves
// A small window and little memory: setting zlib up costs more than compressing a resource.
const GZIP = { level: 1, windowBits: 12, memLevel: 5 } as const

export interface StoredBody {
  readonly bytes: Buffer
  readonly gzip: boolean
}

export const packBody = (text: string): StoredBody => {
  const plain = Buffer.from(text, 'utf8')
  if (plain.length < WORTH_BYTES) return { bytes: plain, gzip: false }
  // Node makes room for 16 kB otherwise, and the packed bytes would hold all of it for as long as they are kept.
  const packed = gzipSync(plain, { ...GZIP, chunkSize: plain.length })
  return packed.length < plain.length ? { bytes: packed, gzip: true } : { bytes: plain, gzip: false }
}

/** The last four bytes of gzip say how much it unpacks to. RFC 1952, section 2.3.1. */
const sizeOf = (packed: Buffer): number => packed.readUInt32LE(packed.length - 4)

export const unpackBody = ({ bytes, gzip }: StoredBody): Buffer =>
  gzip ? gunzipSync(bytes, { chunkSize: Math.max(sizeOf(bytes), 64) }) : bytes
