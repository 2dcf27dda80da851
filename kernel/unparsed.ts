/**
 * Refusals of what Node's parser or server made no request of. They are written to the connection itself, and metered
 * like others, so that they are counted, logged and recorded in the audit trail.
 */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { httpModule } from './http-module.ts'

export interface BareRefusal {
  readonly socket: Socket
  readonly status: number
  /** Set for a request that was parsed and never handed on: CONNECT, or one with an expectation. */
  readonly request?: IncomingMessage | undefined
  /** The bytes that the parser got last. */
  readonly bytes?: Buffer | undefined
  /** How many of those bytes it could parse. */
  readonly parsed?: number | undefined
}

/** Refusals are dropped until `open` sets a listener. */
export interface BareRefusals {
  report(refusal: BareRefusal): void
  open(listener: (refusal: BareRefusal) => void): void
}

export const createBareRefusals = (): BareRefusals => {
  let listener: ((refusal: BareRefusal) => void) | undefined
  return {
    report: (refusal) => listener?.(refusal),
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
const MAX_CHARS = 256 // enough for the type and id
const KNOWN: ReadonlySet<string> = new Set(httpModule.METHODS)
const NO_LINE: RequestLine = { method: 'UNKNOWN', url: '' }

/**
 * The request line of bytes that could not be parsed, if it lies in what the parser got last; it begins after the head
 * before it.
 */
export const requestLineIn = ({ bytes, parsed = 0 }: Pick<BareRefusal, 'bytes' | 'parsed'>): RequestLine => {
  if (bytes === undefined) return NO_LINE
  const before = bytes.lastIndexOf('\r\n\r\n', Math.max(0, parsed - 4))
  const start = before === -1 || before + 4 > parsed ? 0 : before + 4
  const [, method = '', url = ''] = LINE.exec(bytes.toString('latin1', start, start + MAX_CHARS)) ?? []
  return { method: KNOWN.has(method) ? method : NO_LINE.method, url }
}
