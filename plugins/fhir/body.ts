/** The body of a request: read with a limit, inflated with the same limit. RFC 9110, section 8.4. */
import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { BodyTooLarge, type ServerError } from '../../kernel/index.ts'
import { BodyCorrupt, BodyEncoding } from './errors.ts'

/** The rest of a refused body is not worth reading: the connection ends with the answer. */
const tooLarge = (limit: number): ServerError => BodyTooLarge(limit).with({ headers: { connection: 'close' } })

const collect = async (stream: Readable, limit: number): Promise<Buffer> => {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of stream) {
    size += (chunk as Buffer).length
    if (size > limit) throw tooLarge(limit)
    chunks.push(chunk as Buffer)
  }
  return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, size)
}

const inflate = async (payload: Readable, limit: number): Promise<Buffer> => {
  const gunzip = createGunzip()
  payload.on('error', (error) => gunzip.destroy(error))
  try {
    return await collect(payload.pipe(gunzip), limit)
  } catch (error) {
    if ((error as { code?: string }).code?.startsWith('Z_') || (error as { code?: string }).code === 'ERR_PADDING')
      throw BodyCorrupt().with({ cause: error })
    throw error
  } finally {
    payload.unpipe(gunzip)
    gunzip.destroy()
  }
}

/** Bytes of the body as the client meant them. Throws 413, 415 or 400. */
export const readBody = async (request: IncomingMessage, payload: Readable, limit: number): Promise<Buffer> => {
  const length = Number(request.headers['content-length'] ?? 0)
  if (length > limit) throw tooLarge(limit)
  const encoding = request.headers['content-encoding']?.trim().toLowerCase()
  if (encoding === undefined || encoding === 'identity' || encoding === '') return collect(payload, limit)
  if (encoding === 'gzip' || encoding === 'x-gzip') return inflate(payload, limit)
  throw BodyEncoding(encoding)
}
