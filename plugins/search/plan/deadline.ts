/** Ends a search when the client disconnects or its deadline is reached. */
import type { Clock, OwnUrl, RequestContext } from '../../../kernel/index.ts'
import { SearchTooLong } from '../errors.ts'
import type { Fragment } from '../sql/fragment.ts'

/** Milliseconds, from the first statement that may be slow. */
export const SEARCH_MS = 30_000

/** What statements need to know of the request. */
export interface Deadline {
  /** Created at its first use, which starts the deadline. */
  readonly signal: AbortSignal
  /** Only for `_explain`. */
  readonly trace?: Trace | undefined
}

/** Records each statement with its duration in milliseconds, measured with `now`. */
export interface Trace {
  now(): number
  note(statement: Fragment, ms: number, isSlow: boolean): void
}

export interface SearchDeadline extends Deadline {
  readonly ownUrl: OwnUrl | undefined
  /** Returns the error for the deadline if it has passed, otherwise the given error. */
  refusal(error: unknown): unknown
}

class RequestDeadline implements SearchDeadline {
  readonly #ctx: RequestContext
  readonly #clock: Clock
  readonly ownUrl: OwnUrl | undefined
  readonly trace: Trace | undefined
  #late: AbortSignal | undefined
  #signal: AbortSignal | undefined

  constructor(ctx: RequestContext, clock: Clock, trace: Trace | undefined) {
    this.#ctx = ctx
    this.#clock = clock
    this.ownUrl = ctx.ownUrl
    this.trace = trace
  }

  get signal(): AbortSignal {
    this.#late ??= this.#clock.deadline(SEARCH_MS)
    this.#signal ??= AbortSignal.any([this.#ctx.signal, this.#late])
    return this.#signal
  }

  refusal(error: unknown): unknown {
    const isOver = this.#late?.aborted === true && !this.#ctx.signal.aborted
    return isOver ? SearchTooLong(SEARCH_MS / 1000).with({ cause: error }) : error
  }
}

export const createDeadline = (ctx: RequestContext, clock: Clock, trace?: Trace): SearchDeadline =>
  new RequestDeadline(ctx, clock, trace)
