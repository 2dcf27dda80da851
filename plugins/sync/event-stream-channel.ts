/** Messages as Server-Sent Events, the body of one answer. https://html.spec.whatwg.org/#server-sent-events */
import type { ServerResponse } from 'node:http'
import { PassThrough, type Readable } from 'node:stream'
import type { Channel } from './channel.ts'

const END = Buffer.from('\n\n')
const SILENCE_MS = 25_000 // then a comment, so that proxies keep the connection

export interface EventStreamChannel extends Channel {
  readonly body: Readable
  /** Once a second. */
  tick(now: number): void
}

export interface EventStreamEvents {
  drained(): void
  closed(): void
}

/** `response`: the answer that the body is piped into. */
export const createEventStreamChannel = (response: ServerResponse, on: EventStreamEvents): EventStreamChannel => {
  const body = new PassThrough()
  let isOpen = true
  let saidAt: number | undefined
  const end = (): void => {
    if (!isOpen) return
    isOpen = false
    on.closed()
  }
  response.on('drain', on.drained)
  response.once('close', end)
  body.on('error', end)
  return {
    body,
    send(text, rest) {
      saidAt = undefined
      if (!isOpen) return
      const begin = `data: ${text}`
      body.write(rest === undefined ? `${begin}\n\n` : Buffer.concat([Buffer.from(begin), rest, END]))
    },
    get unsent() {
      return body.writableLength + body.readableLength + response.writableLength
    },
    close(code, reason) {
      if (!isOpen) return
      // An answer has no close code, so the code is sent as the last event.
      body.end(`event: close\ndata: ${JSON.stringify({ code, reason })}\n\n`)
      isOpen = false
    },
    tick(now) {
      saidAt ??= now
      if (now - saidAt < SILENCE_MS || !isOpen) return
      saidAt = now
      body.write(':\n\n')
    },
  }
}
