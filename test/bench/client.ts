/**
 * Load over keep-alive connections, one request in flight on each. Written on bare sockets because a general client
 * costs as much CPU per request as the server under test, and would then be what is measured.
 */
import { connect, type Socket } from 'node:net'

export interface LoadOptions {
  /** `http://127.0.0.1:12345` */
  readonly address: string
  readonly connections: number
  /** The next request to send, whole. */
  readonly next: () => Buffer | string
  /** Ends after this long, after so many answers, or when the signal says so: whichever comes first. */
  readonly seconds?: number
  readonly requests?: number
  readonly signal?: AbortSignal
  /** Called with every answer outside 2xx; by default that ends the load with an error. */
  readonly onRefusal?: (status: number, text: string) => void
  /** Called with the head of every answer: for seeding, not for measuring. */
  readonly onAnswer?: (head: string) => void
}

export interface LoadResult {
  readonly done: number
  readonly perSecond: number
  /** Milliseconds at a share of the answers: `at(0.99)`. */
  at(share: number): number
}

interface Connection {
  readonly socket: Socket
  pending: Buffer | undefined
  sentAt: number
}

interface Answer {
  readonly status: number
  readonly head: string
  readonly bodyStart: number
  readonly end: number
}

const HEAD_END = Buffer.from('\r\n\r\n')
const LENGTH = /\r\ncontent-length: *(\d+)/i

/** The answer the bytes begin with, or undefined when they do not hold all of it. */
export const readAnswer = (bytes: Buffer): Answer | undefined => {
  const headEnd = bytes.indexOf(HEAD_END)
  if (headEnd === -1) return undefined
  const head = bytes.toString('latin1', 0, headEnd)
  const status = Number(head.slice(9, 12))
  const length = status === 204 || status === 304 ? 0 : Number(LENGTH.exec(head)?.[1] ?? Number.NaN)
  if (Number.isNaN(length)) throw new Error(`an answer without content-length: ${head}`)
  const bodyStart = headEnd + HEAD_END.length
  const end = bodyStart + length
  return bytes.length < end ? undefined : { status, head, bodyStart, end }
}

const toResult = (latencies: readonly number[], seconds: number): LoadResult => {
  const sorted = Float64Array.from(latencies).sort()
  return {
    done: sorted.length,
    perSecond: sorted.length / seconds,
    at: (share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN,
  }
}

export const load = (options: LoadOptions): Promise<LoadResult> =>
  new Promise((resolve, reject) => {
    const { address, connections, next, signal, onRefusal, onAnswer } = options
    const { seconds = Number.POSITIVE_INFINITY, requests = Number.POSITIVE_INFINITY } = options
    const { hostname, port } = new URL(address)
    const latencies: number[] = []
    const open: Connection[] = []
    let startedAt = 0
    let sent = 0
    let over = false

    const end = (): boolean => {
      if (over) return false
      over = true
      signal?.removeEventListener('abort', finish)
      for (const { socket } of open) socket.destroy()
      return true
    }
    const finish = (): void => {
      if (end()) resolve(toResult(latencies, (performance.now() - startedAt) / 1000))
    }
    const fail = (error: unknown): void => {
      if (end()) reject(error)
    }

    const send = (connection: Connection): void => {
      if (sent >= requests) return
      sent += 1
      // Making it is the client's time.
      const request = next()
      connection.sentAt = performance.now()
      connection.socket.write(request)
    }
    const onData = (connection: Connection, chunk: Buffer): void => {
      if (over) return
      const now = performance.now()
      const bytes = connection.pending === undefined ? chunk : Buffer.concat([connection.pending, chunk])
      const answer = readAnswer(bytes)
      connection.pending = answer === undefined ? bytes : undefined
      if (answer === undefined) return
      const { status, head, bodyStart } = answer
      if (status < 200 || status > 299) {
        const text = bytes.toString('utf8', bodyStart, answer.end)
        if (onRefusal === undefined) throw new Error(`answered ${status}: ${text.slice(0, 1000)}`)
        onRefusal(status, text)
      }
      onAnswer?.(head)
      latencies.push(now - connection.sentAt)
      if (latencies.length >= requests || now - startedAt >= seconds * 1000) finish()
      else send(connection)
    }

    signal?.addEventListener('abort', finish, { once: true })
    let connected = 0
    for (let n = 0; n < connections; n += 1) {
      const socket = connect({ host: hostname, port: Number(port), noDelay: true })
      const connection: Connection = { socket, pending: undefined, sentAt: 0 }
      open.push(connection)
      socket.on('data', (chunk) => {
        try {
          onData(connection, chunk)
        } catch (error) {
          fail(error)
        }
      })
      socket.on('error', fail)
      socket.on('close', () => fail(new Error('the server closed a connection under load')))
      socket.once('connect', () => {
        connected += 1
        if (connected < connections) return
        startedAt = performance.now()
        for (const one of open) send(one)
      })
    }
  })

/** A GET as bytes. */
export const toGet = (address: string, path: string): string =>
  `GET ${path} HTTP/1.1\r\nhost: ${address.slice(7)}\r\naccept: application/fhir+json\r\n\r\n`

/** A request with a JSON body as bytes. */
export const toSend = (address: string, method: 'POST' | 'PUT', path: string, body: string): Buffer =>
  Buffer.from(
    `${method} ${path} HTTP/1.1\r\nhost: ${address.slice(7)}\r\naccept: application/fhir+json\r\n` +
      `content-type: application/fhir+json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
