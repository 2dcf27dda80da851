/**
 * Compresses the answers of routes that declare it: RouteConfig.compress. Routes opt in, because the length of a
 * compressed answer shows whether a text that a stranger chose occurs in it, which is an attack (BREACH) where the answer
 * also holds a secret of the person whose browser sends the request.
 */

import type { IncomingHttpHeaders } from 'node:http'
import { pipeline, type Readable } from 'node:stream'
import { withVary } from '../with-vary.ts'
import { CODINGS, compress, compressor } from './codings.ts'
import { chooseCoding } from './content-coding.ts'

const VARIES_BY = 'accept-encoding'
const COMPRESSIBLE = /^(?:text\/(?!event-stream)|application\/(?:[a-z0-9.-]+\+)?(?:json|ndjson|x-ndjson|xml)\b)/i

type Body = string | Buffer | Readable

/** The head of an answer, as Fastify's reply and a direct answer have it. */
export interface AnswerHead {
  readonly status: number
  get(name: string): unknown
  set(name: string, value: string): void
  remove(name: string): void
}

export interface Compression {
  /** True for a body that is compressed for clients that accept it. */
  concerns(status: number, type: unknown, body: unknown): body is Body
  /**
   * Sets `Vary`, and compresses where the client accepts it: then the result is the body to send, and the head says so.
   * Undefined where the body is sent as it is.
   */
  apply(headers: IncomingHttpHeaders, head: AnswerHead, body: Body): Promise<Buffer> | Readable | undefined
}

/** A strong validator names bytes, and these are others. RFC 9110, section 8.8.1. */
const weaken = (head: AnswerHead): void => {
  const tag = head.get('etag')
  if (typeof tag === 'string' && !tag.startsWith('W/')) head.set('etag', `W/${tag}`)
}

const isStream = (body: unknown): body is Readable => typeof (body as Readable | null)?.pipe === 'function'

/** `fromBytes`: smaller bodies stay as they are; 0 for no compression at all, which gives null. */
export const createCompression = (fromBytes: number): Compression | null => {
  if (fromBytes === 0) return null
  return {
    concerns(status, type, body): body is Body {
      if (status === 204 || status === 206 || status === 304) return false
      const isLarge = typeof body === 'string' || Buffer.isBuffer(body) ? body.length >= fromBytes : isStream(body)
      return isLarge && typeof type === 'string' && COMPRESSIBLE.test(type)
    },
    apply(headers, head, body) {
      // Compressed already, or not to be changed by anybody.
      if (head.get('content-encoding') !== undefined) return undefined
      const caching = head.get('cache-control')
      if (caching !== undefined && /\bno-transform\b/i.test(String(caching))) return undefined
      const varies = head.get('vary')
      if (
        !String(varies ?? '')
          .toLowerCase()
          .includes(VARIES_BY)
      )
        head.set('vary', withVary(varies, VARIES_BY))
      const coding = chooseCoding(headers[VARIES_BY], CODINGS)
      if (coding === undefined) return undefined
      head.set('content-encoding', coding)
      head.remove('content-length')
      weaken(head)
      if (!isStream(body)) return compress(body, coding)
      // The error is that of the stream which is returned, so whoever sends it sees it.
      return pipeline(body, compressor(coding), () => undefined)
    },
  }
}
