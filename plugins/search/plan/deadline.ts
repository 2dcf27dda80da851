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
  /** To be called when the search has ended: the timer runs on, and must not keep the request in memory. */
  end(): void
}

/** A class, because V8 keeps what the getter of an object literal sees in memory until it collects the whole heap. */
class RequestDeadline implements SearchDeadline {
  readonly ownUrl: OwnUrl | undefined
  readonly trace: Trace | undefined
  readonly #context: RequestContext
  readonly #clock: Clock
  #late: AbortSignal | undefined
  #controller: AbortController | undefined

  constructor(context: RequestContext, clock: Clock, trace: Trace | undefined) {
    this.ownUrl = context.ownUrl
    this.trace = trace
    this.#context = context
    this.#clock = clock
  }

  get signal(): AbortSignal {
    this.#controller ??= this.#start()
    return this.#controller.signal
  }

  /** Not with AbortSignal.any, of which each call leaves 2 kB to the collection of the whole heap. */
  #start(): AbortController {
    const controller = new AbortController()
    this.#controller = controller
    this.#late = this.#clock.deadline(SEARCH_MS)
    for (const source of [this.#context.signal, this.#late])
      if (source.aborted) controller.abort(source.reason)
      else source.addEventListener('abort', this.#abort, { once: true })
    return controller
  }

  readonly #abort = ({ target }: Event): void => this.#controller?.abort((target as AbortSignal).reason)

  refusal(error: unknown): unknown {
    return this.#late?.aborted === true && !this.#context.signal.aborted
      ? SearchTooLong(SEARCH_MS / 1000).with({ cause: error })
      : error
  }

  end(): void {
    if (this.#controller === undefined) return
    this.#context.signal.removeEventListener('abort', this.#abort)
    this.#late?.removeEventListener('abort', this.#abort)
  }
}

export const createDeadline = (context: RequestContext, clock: Clock, trace?: Trace): SearchDeadline =>
  new RequestDeadline(context, clock, trace)
