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

export const createDeadline = (ctx: RequestContext, clock: Clock, trace?: Trace): SearchDeadline => {
  let late: AbortSignal | undefined
  let signal: AbortSignal | undefined
  return {
    ownUrl: ctx.ownUrl,
    get signal() {
      late ??= clock.deadline(SEARCH_MS)
      signal ??= AbortSignal.any([ctx.signal, late])
      return signal
    },
    trace,
    refusal: (error) =>
      late?.aborted === true && !ctx.signal.aborted ? SearchTooLong(SEARCH_MS / 1000).with({ cause: error }) : error,
  }
}
