/**
 * Refusals that are written to a bare connection, because Node's parser, or its server, made no request of what came. They
 * are metered like any other, so that they are counted, logged and told to the trail.
 */
import { type IncomingMessage, METHODS } from 'node:http'
import type { Socket } from 'node:net'

export interface BareRefusal {
  readonly socket: Socket
  readonly status: number
  /** Of a request that was read and never handed on: CONNECT, an expectation. */
  readonly request?: IncomingMessage | undefined
  /** What the parser was given last. */
  readonly bytes?: Buffer | undefined
  /** Up to where it could read that. */
  readonly parsed?: number | undefined
}

/** Until somebody listens nothing is told. */
export interface BareRefusals {
  tell(refusal: BareRefusal): void
  open(listener: (refusal: BareRefusal) => void): void
}

export const createBareRefusals = (): BareRefusals => {
  let listener: ((refusal: BareRefusal) => void) | undefined
  return {
    tell: (refusal) => listener?.(refusal),
    open(given) {
      listener = given
    },
  }
}

export interface RequestLine {
  /** One that Node knows, or UNKNOWN. */
  readonly method: string
  /** Its beginning; empty where none was read. */
  readonly url: string
}

const LINE = /^([A-Z]{1,20}) (\S*)/
const MAX_CHARS = 256 // as much as tells type and id
const KNOWN: ReadonlySet<string> = new Set(METHODS)
const NO_LINE: RequestLine = { method: 'UNKNOWN', url: '' }

/** The request line of what could not be read, where it lies in the bytes that came last: behind the head before it. */
export const requestLineIn = ({ bytes, parsed = 0 }: Pick<BareRefusal, 'bytes' | 'parsed'>): RequestLine => {
  if (bytes === undefined) return NO_LINE
  const before = bytes.lastIndexOf('\r\n\r\n', Math.max(0, parsed - 4))
  const start = before === -1 || before + 4 > parsed ? 0 : before + 4
  const [, method = '', url = ''] = LINE.exec(bytes.toString('latin1', start, start + MAX_CHARS)) ?? []
  return { method: KNOWN.has(method) ? method : NO_LINE.method, url }
}
