/** How long a search is worked on: until the client goes away, or its deadline. */
import type { Clock, OwnUrl, RequestContext } from '../../../kernel/index.ts'
import { SearchTooLong } from '../errors.ts'
import type { Fragment } from '../sql/fragment.ts'

/** From the first statement that may be slow. */
export const SEARCH_MS = 30_000

/** Who waits. */
export interface Deadline {
  /** Made when there is slow work to stop. */
  readonly signal: AbortSignal
  /** For `_explain`. */
  readonly trace?: Trace | undefined
}

/** Is told of each statement with its time in milliseconds, by the clock it gives. */
export interface Trace {
  now(): number
  note(statement: Fragment, ms: number, isSlow: boolean): void
}

export interface SearchDeadline extends Deadline {
  readonly ownUrl: OwnUrl | undefined
  /** The error that the deadline makes of another one. */
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
