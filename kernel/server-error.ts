/** Errors with an HTTP answer. The message is for the client, `detail` is for the operator's log. */
import type { Issue, IssueCode } from './issue.ts'
import type { OwnUrl } from './own-url.ts'

export interface ErrorExtras {
  /** Response headers, e.g. `allow` of a 405. */
  readonly headers?: Readonly<Record<string, string>>
  /** For the log only; never sent. */
  readonly detail?: unknown
  readonly expression?: readonly string[]
  /** Several issues instead of the one made from the message. */
  readonly issues?: readonly Issue[]
  readonly cause?: unknown
  /** For the audit trail only, never sent: the resource exists, and the caller may not see it. */
  readonly hidden?: boolean
  /**
   * For the audit trail only, never sent: the patients whose data the refused change concerns, as `Patient/p1`. Set only
   * where the caller may see the resource.
   */
  readonly patients?: (ownUrl: OwnUrl | undefined) => readonly string[]
  /**
   * A refusal that is part of normal operation, for example while something is not ready yet: not logged, whatever its
   * status.
   */
  readonly isExpected?: boolean
}

/** A registered symbol, so that every copy of this package in the process recognises the error. */
const BRAND = Symbol.for('refhir.error/1')

/** V8 walks the stack of an error when it is made, which takes several times as long as the rest. */
const withoutStack = <T>(make: () => T): T => {
  const limit = Error.stackTraceLimit
  Error.stackTraceLimit = 0
  try {
    return make()
  } finally {
    Error.stackTraceLimit = limit
  }
}

/** An error with an answer: thrown anywhere in a request, it becomes the status and the OperationOutcome. */
export class ServerError extends Error {
  static {
    Object.defineProperty(ServerError.prototype, BRAND, { value: true })
  }

  /** True for errors of every copy of this package. Classes that extend this one know their own instances only. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    // biome-ignore lint/complexity/noThisInStatic: a class that extends this one inherits the method, and is `this`
    if (this !== ServerError) return Function.prototype[Symbol.hasInstance].call(this, value)
    return typeof value === 'object' && value !== null && BRAND in value
  }

  readonly key: string
  readonly status: number
  readonly code: IssueCode
  extras: ErrorExtras = {}
  /** The plugin and the hook whose tap threw; set by the kernel. */
  plugin?: string
  hook?: string

  constructor(key: string, status: number, code: IssueCode, message: string) {
    super(message)
    this.name = 'ServerError'
    this.key = key
    this.status = status
    this.code = code
  }

  /**
   * A copy with further headers, FHIRPath expressions, issues, or a detail for the log. The error itself stays as it is, because
   * several requests may have been given it, such as those whose connection to the database was lost together.
   */
  with(extras: ErrorExtras): this {
    const copy = withoutStack(() => Reflect.construct(Error, [this.message], this.constructor)) as this
    Object.assign(copy, this)
    copy.extras = { ...this.extras, ...extras }
    if (extras.cause !== undefined) copy.cause = extras.cause
    // The stack shows where the first error was made.
    Object.defineProperty(copy, 'stack', { get: () => this.stack, configurable: true })
    return copy
  }
}

/** True for errors that a table made: their message is fit for one line on a terminal. */
export const isServerError = (error: unknown): error is ServerError => error instanceof ServerError
