/**
 * One request sent to the primary over a pool, and its answer as a stream. It is sent again, once, where no byte of it
 * was sent; never after that.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import { PrimaryAway, PrimaryBusy, RelayUnknown } from './errors.ts'
import type { PassedHeaders } from './passed-headers.ts'

const TRIES = 2
const RETRY_AFTER_S = 2

export interface Sending {
  readonly method: string
  /** Path and query. */
  readonly path: string
  readonly headers: PassedHeaders
  readonly body: Readable | undefined
  /** Aborts when the client leaves. */
  readonly signal: AbortSignal
  /** Milliseconds to wait for a connection that is free. */
  readonly waitMs: number
}

export interface PrimaryAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Readable
}

const away = (cause?: unknown): Error =>
  PrimaryAway().with({ headers: { 'retry-after': String(RETRY_AFTER_S) }, ...(cause !== undefined && { cause }) })
export const busy = (): Error => PrimaryBusy().with({ headers: { 'retry-after': String(RETRY_AFTER_S) } })

/** An answer's body: reads no more from the connection than is taken, and ends it when the client leaves. */
const bodyOf = (controller: Dispatcher.DispatchController): Readable =>
  new Readable({
    read: () => controller.resume(),
    destroy(error, done) {
      // Has no effect on an answer that has come to its end.
      controller.abort(error ?? new Error('the client left'))
      done(error)
    },
  })

/** Thrown where no byte was sent, so that it may be tried again. */
class NotSent extends Error {}

const sendOnce = (pool: Pick<Dispatcher, 'dispatch'>, sending: Sending): Promise<PrimaryAnswer> =>
  new Promise((resolve, reject) => {
    const { method, path, headers, body, signal, waitMs } = sending
    let controller: Dispatcher.DispatchController | undefined
    let answer: Readable | undefined
    let isGivenUp = false

    const leave = (): void => {
      if (controller !== undefined) controller.abort(new Error('the client left'))
      else giveUp(new Error('the client left'))
    }
    /** Nothing was sent, and nothing will be: a request that waits in the pool cannot be taken out. */
    const giveUp = (error: Error): void => {
      isGivenUp = true
      settle()
      reject(error)
    }
    const late = setTimeout(() => giveUp(busy()), waitMs)
    const settle = (): void => {
      clearTimeout(late)
      signal.removeEventListener('abort', leave)
    }
    if (signal.aborted) return leave()
    signal.addEventListener('abort', leave, { once: true })
    pool.dispatch(
      { method: method as Dispatcher.HttpMethod, path, headers, body: body ?? null },
      {
        onRequestStart(started) {
          clearTimeout(late)
          // The pool would send a request again whose connection it lost: that would carry it out twice.
          if (isGivenUp || controller !== undefined) throw new Error('not sent')
          controller = started
        },
        onResponseStart(started, status, given) {
          if (status < 200) return // informational
          answer = bodyOf(started)
          // A body that nobody listens to any more must not end the process.
          answer.on('error', () => undefined)
          resolve({ status, headers: given, body: answer })
        },
        onResponseData(started, chunk) {
          if (answer?.push(chunk) === false) started.pause()
        },
        onResponseEnd() {
          settle()
          answer?.push(null)
        },
        onResponseError(_controller, error) {
          settle()
          if (isGivenUp) return
          if (controller === undefined) return reject(new NotSent('no byte was sent', { cause: error }))
          const unknown = RelayUnknown().with({ cause: error })
          if (answer === undefined) reject(unknown)
          else answer.destroy(unknown)
        },
      },
    )
  })

/** Throws PrimaryAway, PrimaryBusy or RelayUnknown. */
export const exchange = async (pool: Pick<Dispatcher, 'dispatch'>, sending: Sending): Promise<PrimaryAnswer> => {
  for (let tried = 1; ; tried += 1)
    try {
      return await sendOnce(pool, sending)
    } catch (error) {
      if (!(error instanceof NotSent)) throw error
      if (tried === TRIES || sending.signal.aborted) throw away(error.cause)
    }
}
