/** What the server did for one request: steps with their times, and nothing of what was sent, found or stored. */
import type { RequestContext } from '../../kernel/index.ts'

/** Names and numbers; never content, values of a search, ids of resources or tokens. */
export type Details = Readonly<Record<string, unknown>>

export interface Step {
  readonly kind: 'tap' | 'ruling' | 'plan' | 'statement' | 'transaction' | 'validation' | 'terminology'
  /** Milliseconds from the arrival of the request to the beginning of the step. */
  readonly at: number
  /** Milliseconds; undefined where the step has not ended. */
  ms: number | undefined
  readonly details: Details
  /** Added when it ends. */
  ended: Details | undefined
}

/** What is said of the request. */
export interface About {
  /** X-Request-Id. */
  readonly request: string
  readonly method: string
  readonly route: string | undefined
  readonly requestClass: string
}

export interface TraceParts {
  readonly id: string
  readonly request: RequestContext
  /** Milliseconds on a clock that never goes back. */
  readonly now: () => number
}

/** Most bytes of one trace, about; further steps are counted and left out. */
export const MAX_TRACE_BYTES = 128 * 1024
const END_BYTES = 80 // what the end of a step adds

const rounded = (ms: number): number => Math.round(ms * 1000) / 1000
/** The key of an error of ours, else the name of its class: a message may repeat what was sent. */
const failureOf = (error: unknown): string => {
  const { key } = error as { readonly key?: unknown }
  return typeof key === 'string' ? key : error instanceof Error ? error.constructor.name : 'error'
}

export class Trace {
  readonly id: string
  /** Names its client, once that is known. */
  client: string | undefined
  readonly steps: Step[] = []
  /** Milliseconds since the epoch. */
  readonly startedAt: number
  /** Not the request itself, which has a token and keeps the connection in memory. */
  readonly about: About
  /** Headers of https://www.w3.org/TR/trace-context/ as they were sent. */
  readonly parent: Readonly<Record<string, string>>
  readonly #now: () => number
  readonly #began: number
  #bytes = 0
  /** Steps that were left out. */
  dropped = 0
  /** Once the request has been answered; `duration` in milliseconds. */
  answered: { readonly status: number; readonly duration: number } | undefined

  constructor({ id, request, now }: TraceParts) {
    this.id = id
    const { startedAt, method, route, requestClass, headers } = request
    const { traceparent, tracestate } = headers
    this.startedAt = startedAt
    this.about = { request: request.id, method, route, requestClass }
    this.parent = {
      ...(typeof traceparent === 'string' && { traceparent }),
      ...(typeof tracestate === 'string' && { tracestate }),
    }
    this.#now = now
    this.#began = now()
  }

  /** False once the request has been answered: what goes on then is no part of it. */
  get isOpen(): boolean {
    return this.answered === undefined
  }

  /** Undefined where the step is left out. */
  begin(kind: Step['kind'], details: Details): Step | undefined {
    if (!this.isOpen) return undefined
    this.#bytes += JSON.stringify(details).length + END_BYTES
    if (this.#bytes > MAX_TRACE_BYTES) {
      this.dropped += 1
      return undefined
    }
    const step: Step = { kind, at: this.#now() - this.#began, ms: undefined, details, ended: undefined }
    this.steps.push(step)
    return step
  }

  end(step: Step | undefined, ended?: Details): void {
    if (step === undefined) return
    step.ms = this.#now() - this.#began - step.at
    step.ended = ended
  }

  /** Something that takes no time. */
  note(kind: Step['kind'], details: Details): void {
    this.end(this.begin(kind, details))
  }

  /** Performs `work` as a step, and returns or throws what it does. `tell` says what its result adds. */
  time<T>(kind: Step['kind'], details: Details, work: () => T, tell?: (result: Awaited<T>) => Details): T {
    const step = this.begin(kind, details)
    if (step === undefined) return work()
    const done = (result: Awaited<T>): Awaited<T> => {
      this.end(step, tell?.(result))
      return result
    }
    const failed = (error: unknown): never => {
      this.end(step, { failed: failureOf(error) })
      throw error
    }
    let result: T
    try {
      result = work()
    } catch (error) {
      return failed(error)
    }
    return result instanceof Promise ? (result.then(done, failed) as T) : done(result as Awaited<T>)
  }

  close(status: number, duration: number): void {
    this.answered = { status, duration }
  }

  toJson(): object {
    const { id, client, steps, startedAt } = this
    const { request, method, route, requestClass } = this.about
    return {
      id,
      request,
      time: new Date(startedAt).toISOString(),
      method,
      route,
      class: requestClass,
      client,
      ...(this.answered === undefined
        ? { finished: false }
        : { finished: true, status: this.answered.status, ms: rounded(this.answered.duration) }),
      dropped: this.dropped,
      steps: steps.map(({ kind, at, ms, details, ended }) => ({
        kind,
        at: rounded(at),
        ...(ms !== undefined && { ms: rounded(ms) }),
        ...details,
        ...ended,
      })),
    }
  }
}
