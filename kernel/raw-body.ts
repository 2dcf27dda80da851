/** The body of a request before it is parsed, for taps of `relay`. */
import type { IncomingMessage } from 'node:http'
import { PassThrough, type Readable } from 'node:stream'
import { BodyLate, BodyTwice, ClientLeft } from './errors.ts'

export interface RawBody {
  /** Bytes, from Content-Length; undefined for a chunked body. */
  readonly length: number | undefined
  /**
   * The bytes as they arrive: no faster than they are read, still compressed, without a size limit. Works once, while
   * the taps of `relay` run. A tap that takes them must answer. Destroying the stream leaves the connection open for
   * the answer; the stream ends with an error when the client leaves.
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
  // The tap may have removed its listeners when the client leaves, and an error without a listener ends the process.
  stream.on('error', () => undefined)
  raw.on('error', left)
  raw.on('close', left)
  raw.pipe(stream)
  // The rest is read and discarded, so that the connection can take its next request.
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
