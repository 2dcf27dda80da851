/**
 * An operation as a plugin declares it: `$name` at the base, at a type, at an instance.
 * https://hl7.org/fhir/R4/operations.html
 */

import type { Interaction, RequestClass, RequestContext, Rights, Ruling } from '../../../kernel/index.ts'
import type { SessionReads } from '../session/session.ts'
import type { Inputs, OperationLevel, OperationParameter } from './operation-parameter.ts'

/** One invocation that was ruled on. */
export interface Invocation {
  readonly request: RequestContext
  /** Of kind `operation`, with the type and id of the address. */
  readonly interaction: Interaction
  readonly inputs: Inputs
  /**
   * What this caller may see by the ruling of the invocation; inside a transaction, what was written there too. Its calls
   * are no interactions of their own: the invocation is told, with whose data they gave.
   */
  readonly data: SessionReads
  /** For an operation that looks elsewhere than in `data`: it has to apply this, or to refuse where it restricts. */
  readonly ruling: Ruling
}

export interface OperationAnswer {
  /** 200 when left out. */
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** The resource that answers, as an object or as its JSON; neither for no body. */
  readonly resource?: object
  readonly json?: string | Buffer
}

/** One thing an operation changes. Validated, judged by the ruling, hooked and told like any other write. */
export type OperationChange =
  | { readonly kind: 'create'; readonly type: string; readonly json: string }
  | { readonly kind: 'update'; readonly type: string; readonly id: string; readonly json: string }
  | { readonly kind: 'delete'; readonly type: string; readonly id: string }
  | {
      /** Makes the next version from the current one, whichever that is by then; undefined leaves it. */
      readonly kind: 'modify'
      readonly type: string
      readonly id: string
      modify(json: string): string | undefined
    }

/** The version a change led to; the current one when there was nothing to change. */
export interface OperationChanged {
  readonly type: string
  readonly id: string
  readonly version: number
  /** Undefined for a deletion. */
  readonly json: string | undefined
}

export interface OperationChanges {
  /** All of them are made, or none. */
  readonly changes: readonly OperationChange[]
  /** `changed` in the order of `changes`. */
  answer(changed: readonly OperationChanged[]): OperationAnswer
}

interface Declared {
  /** Without the `$`. */
  readonly code: string
  /** Canonical of its OperationDefinition. */
  readonly definition: string
  /** A sentence for /metadata. */
  readonly documentation: string
  readonly levels: readonly OperationLevel[]
  /** Types it is for at the levels type and instance; every type when left out. */
  readonly types?: readonly string[]
  readonly parameters: readonly OperationParameter[]
  /**
   * What it needs on the type addressed: all of them. When left out, `r` at an instance and any right at a type. What it
   * changes needs c, u or d besides.
   */
  readonly rights?: Rights
  /** `operation` when left out. */
  readonly requestClass?: RequestClass
}

/** Changes nothing: GET and POST. */
export interface AnsweringOperation<I extends Invocation = Invocation> extends Declared {
  answer(invocation: I): OperationAnswer | Promise<OperationAnswer>
}

/** Changes something: POST only. What is to be changed is returned, so that it shares a transaction with others. */
export interface ChangingOperation<I extends Invocation = Invocation> extends Declared {
  change(invocation: I): OperationChanges | Promise<OperationChanges>
}

export type Operation<I extends Invocation = Invocation> = AnsweringOperation<I> | ChangingOperation<I>

export const isChanging = <I extends Invocation>(operation: Operation<I>): operation is ChangingOperation<I> =>
  'change' in operation
