/** Decompresses a file that is gzip, whatever its name and headers say, and bounds its length. */
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { SourceLarge } from './errors.ts'

const MAX_LAYERS = 2 // a file that is gzip, sent with Content-Encoding: gzip

type Bytes = AsyncIterable<Buffer>

/** The first bytes of gzip, RFC 1952; no JSON begins with them. */
const isGzip = (chunk: Buffer): boolean => chunk[0] === 0x1f && chunk[1] === 0x8b

async function* unpacked(bytes: Bytes, layers: number): AsyncGenerator<Buffer> {
  const chunks = bytes[Symbol.asyncIterator]()
  let first = Buffer.alloc(0)
  while (first.length < 2) {
    const { value, done } = await chunks.next()
    if (done === true) break
    first = Buffer.concat([first, value])
  }
  const whole = async function* (): AsyncGenerator<Buffer> {
    try {
      if (first.length > 0) yield first
      for (let next = await chunks.next(); next.done !== true; next = await chunks.next()) yield next.value
    } finally {
      await chunks.return?.()
    }
  }
  if (layers === 0 || !isGzip(first)) {
    yield* whole()
    return
  }
  const gunzip = createGunzip()
  pipeline(Readable.from(whole()), gunzip).catch((error) => gunzip.destroy(error))
  yield* unpacked(gunzip, layers - 1)
}

/** Throws `SourceLarge` behind `mostBytes` unpacked bytes. */
export async function* plainBytes(bytes: Bytes, name: string, mostBytes: number): AsyncGenerator<Buffer> {
  let size = 0
  for await (const chunk of unpacked(bytes, MAX_LAYERS)) {
    size += chunk.length
    if (size > mostBytes) throw SourceLarge(name, mostBytes)
    yield chunk
  }
}
