/** Reads the body of a request. The limit holds for its bytes before and after decompression. RFC 9110, section 8.4. */
import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { BodyTooLarge, type ServerError } from '../../../kernel/index.ts'
import { BodyCorrupt, BodyEncoding, BodyIncomplete } from '../errors.ts'
import { createSharedBytes, type SharedBytes } from './shared-bytes.ts'

const SHARED_BYTES = 256 * 1024 // a larger body is copied to shared memory while it arrives

/** The rest of a body that is too large is not read: the connection is closed after the answer. */
const tooLarge = (limit: number): ServerError => BodyTooLarge(limit).with({ headers: { connection: 'close' } })

/**
 * Reads all bytes of a stream; rejects with 413 as soon as there are more than `limit`. It uses events, because leaving
 * a `for await` early destroys the request, and with it the connection that the answer needs. `announced` is the
 * largest number of bytes to expect.
 */
const collect = (stream: Readable, limit: number, announced = limit): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let shared: SharedBytes | undefined
    let size = 0
    const keep = (chunk: Buffer): void => {
      if (shared === undefined) chunks.push(chunk)
      else shared.add(chunk)
      if (shared !== undefined || size <= SHARED_BYTES) return
      shared = createSharedBytes(announced)
      for (const one of chunks.splice(0)) shared.add(one)
    }
    const whole = (): Buffer =>
      shared?.toBuffer() ?? (chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, size))
    stream
      .on('data', (chunk: Buffer) => {
        size += chunk.length
        if (size <= limit) return keep(chunk)
        chunks.length = 0
        shared = undefined
        stream.removeAllListeners('data').pause()
        reject(tooLarge(limit))
      })
      .on('end', () => resolve(whole()))
      .on('error', (error) => reject(fromStream(error)))
      // Without an earlier `end`, the sender has disconnected. The error is created only then, because its stack trace
      // is costly.
      .on('close', () => {
        if (!stream.readableEnded) reject(BodyIncomplete())
      })
  })

const fromStream = (error: NodeJS.ErrnoException): Error => {
  const { code } = error
  if (code?.startsWith('Z_') || code === 'ERR_TRAILING_JUNK_AFTER_STREAM_END')
    return BodyCorrupt().with({ cause: error })
  if (code === 'ECONNRESET') return BodyIncomplete().with({ cause: error })
  return error
}

/** Decompresses all members of a gzip body, one after the other. RFC 1952, section 2.2. */
const inflate = async (payload: Readable, limit: number): Promise<Buffer> => {
  // The option rejectGarbageAfterEnd is not used, because it refuses a second member.
  const gunzip = createGunzip()
  let received = 0
  payload
    .on('data', (chunk: Buffer) => {
      received += chunk.length
    })
    .on('error', (error) => gunzip.destroy(error))
    .on('close', () => {
      if (!payload.readableEnded) gunzip.destroy()
    })
  try {
    const bytes = await collect(payload.pipe(gunzip), limit)
    // zlib silently stops at a member that begins with a zero byte, so the consumed bytes are compared.
    if (gunzip.bytesWritten < received) throw BodyCorrupt()
    return bytes
  } finally {
    payload.unpipe(gunzip)
    gunzip.destroy()
  }
}

/** The bytes of the body after decompression. Throws 413, 415 or 400. */
export const readRequestBody = (request: IncomingMessage, payload: Readable, limit: number): Promise<Buffer> => {
  const length = Number(request.headers['content-length'] ?? 0)
  if (length > limit) throw tooLarge(limit)
  const encoding = request.headers['content-encoding']?.trim().toLowerCase()
  if (encoding === undefined || encoding === 'identity' || encoding === '')
    return collect(payload, limit, length > 0 ? length : limit)
  if (encoding === 'gzip' || encoding === 'x-gzip') return inflate(payload, limit)
  throw BodyEncoding(encoding.slice(0, 100)).with({ headers: { 'accept-encoding': 'gzip' } })
}
