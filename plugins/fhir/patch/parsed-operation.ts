import type { ElementShape, Elements, PatchStep } from '../../model/service.ts'
import { buildValue, type Fail, type PatchValue } from './patch-value.ts'
import type { Exact, PathOperation } from './path-operations.ts'

/** An operation whose path was parsed. */
export interface ParsedOperation {
  readonly operation: PathOperation
  readonly steps: readonly PatchStep[]
  readonly fail: Fail
}

/** The value of an operation for an element of this shape. Throws 422 and NotLoaded. */
export const valueFor = (
  elements: Elements,
  { operation, fail }: ParsedOperation,
  { inside }: Pick<ElementShape, 'inside'>,
): PatchValue => buildValue(elements, fail, operation.value as Exact, inside)
