/** The body of a request before anybody has parsed it, as `relay` is given it. */
import type { IncomingMessage } from 'node:http'
import { PassThrough, type Readable } from 'node:stream'
import { BodyLate, BodyTwice, ClientLeft } from './errors.ts'

export interface RawBody {
  /** Bytes, as Content-Length has them; undefined for a chunked body. */
  readonly length: number | undefined
  /**
   * The bytes as they arrive: no faster than they are read, not unpacked, without a limit. Once, and while `relay` is
   * asked. Who takes them must answer. Destroying the stream leaves the connection open for the answer; the stream ends
   * with an error when the client leaves.
   */
  take(): Readable
}

export interface OpenBody extends RawBody {
  readonly isTaken: boolean
  /** From now on it cannot be taken. */
  close(): void
}

/** A stream of its own: destroying that of the request would destroy the connection, and with it the answer. */
const streamOf = (raw: IncomingMessage): Readable => {
  const stream = new PassThrough()
  const left = (): void => {
    if (!raw.complete) stream.destroy(ClientLeft())
  }
  // Nobody may be listening any more when the client leaves.
  stream.on('error', () => undefined)
  raw.on('error', left)
  raw.on('close', left)
  raw.pipe(stream)
  // What is not wanted any more is read and forgotten, for the sake of the next request.
  stream.on('close', () => raw.resume())
  return stream
}

/** Undefined where there is no body. */
export const openBody = (raw: IncomingMessage): OpenBody | undefined => {
  const { 'transfer-encoding': coding, 'content-length': given } = raw.headers
  const length = coding === undefined ? Number(given ?? 0) : undefined
  if (length === 0) return undefined
  let isTaken = false
  let isClosed = false
  return {
    length,
    get isTaken() {
      return isTaken
    },
    take() {
      if (isTaken) throw BodyTwice()
      if (isClosed) throw BodyLate()
      isTaken = true
      return streamOf(raw)
    },
    close() {
      isClosed = true
    },
  }
}
