/**
 * An operation as a plugin declares it: `$name` at the base, at a type, at an instance.
 * https://hl7.org/fhir/R4/operations.html
 */

import type { Interaction, RequestClass, RequestContext, Rights, Ruling } from '../../../kernel/index.ts'
import type { SessionReads } from '../session/session.ts'
import type { Inputs, OperationLevel, OperationParameter } from './operation-parameter.ts'

/** An invocation of an operation, after authorization. */
export interface Invocation {
  readonly request: RequestContext
  /** Of kind `operation`, with the type and id of the address. */
  readonly interaction: Interaction
  readonly inputs: Inputs
  /**
   * Reads what the ruling of the invocation lets the caller see; inside a transaction also what was written there. Its
   * calls are no interactions of their own: the fact of the invocation names the patients of everything that was read.
   */
  readonly data: SessionReads
  /**
   * The ruling. An operation that reads data in another way than by `data` must apply it, or refuse when it restricts.
   */
  readonly ruling: Ruling
}

export interface OperationAnswer {
  /** 200 when left out. */
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** The resource in the body, as an object or as its JSON; without both the body is empty. */
  readonly resource?: object
  readonly json?: string | Buffer
  /** Its name in the audit trail, without the `$`, where its parameters make it something else; not in a Bundle. */
  readonly recordedAs?: string
}

/**
 * A change that an operation requests. It is validated, authorized, passed to the hooks and audited like any other
 * write.
 */
export type OperationChange =
  | { readonly kind: 'create'; readonly type: string; readonly json: string }
  | { readonly kind: 'update'; readonly type: string; readonly id: string; readonly json: string }
  | { readonly kind: 'delete'; readonly type: string; readonly id: string }
  | {
      /** Makes the next version from the current one at the time of the write; undefined changes nothing. */
      readonly kind: 'modify'
      readonly type: string
      readonly id: string
      modify(json: string): string | undefined
    }

/** The version that a change has made; the current version when nothing was changed. */
export interface OperationChanged {
  readonly type: string
  readonly id: string
  readonly version: number
  /** Undefined for a deletion. */
  readonly json: string | undefined
}

export interface OperationChanges {
  /** All of them are made, or none of them. */
  readonly changes: readonly OperationChange[]
  /** Makes the answer. `changed` is in the order of `changes`. */
  answer(changed: readonly OperationChanged[]): OperationAnswer
}

interface Declared {
  /** Without the `$`. */
  readonly code: string
  /** Canonical URL of its OperationDefinition. */
  readonly definition: string
  /** A sentence for /metadata. */
  readonly documentation: string
  readonly levels: readonly OperationLevel[]
  /** Types that it applies to at the levels type and instance; every type when left out. */
  readonly types?: readonly string[]
  readonly parameters: readonly OperationParameter[]
  /**
   * The rights on the addressed type that the caller must have, all of them. When left out, `r` at an instance and any
   * one right at a type. Each change that it makes needs c, u or d in addition.
   */
  readonly rights?: Rights
  /** `operation` when left out. */
  readonly requestClass?: RequestClass
  /** False for one that only refuses, because the server is not set up for it: /metadata does not list it. */
  readonly isListed?: boolean
  /**
   * True where it changes no resource and still needs the server that writes: it opens a transaction that it rolls back, or
   * stores rows of its plugin. A replica sends the request on.
   */
  readonly isWriters?: boolean
  /** True where GET is refused with 405 though the operation returns no changes: it erases, or does other work. */
  readonly isPostOnly?: boolean
}

/** An operation that changes nothing. It takes GET and POST. */
export interface AnsweringOperation<I extends Invocation = Invocation> extends Declared {
  answer(invocation: I): OperationAnswer | Promise<OperationAnswer>
}

/**
 * An operation that changes resources. It takes POST only, and returns its changes, so that a Bundle can make them in
 * the same transaction as others.
 */
export interface ChangingOperation<I extends Invocation = Invocation> extends Declared {
  change(invocation: I): OperationChanges | Promise<OperationChanges>
}

export type Operation<I extends Invocation = Invocation> = AnsweringOperation<I> | ChangingOperation<I>

export const isChanging = <I extends Invocation>(operation: Operation<I>): operation is ChangingOperation<I> =>
  'change' in operation

/** True for an operation that takes POST only. */
export const isPosted = <I extends Invocation>(operation: Operation<I>): boolean =>
  isChanging(operation) || operation.isPostOnly === true
