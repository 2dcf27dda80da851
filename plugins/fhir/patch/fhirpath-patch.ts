/** Applies a FHIRPath Patch. https://hl7.org/fhir/R4/fhirpatch.html */

import { type Elements, parsePatchPath } from '../../model/service.ts'
import { createElementChanges } from './element-changes.ts'
import { PatchPath } from './errors.ts'
import { createListChanges } from './list-changes.ts'
import { createPatchedElements } from './patched-elements.ts'
import type { Exact, PathOperation } from './path-operations.ts'
import { removeEmpty } from './remove-empty.ts'

/**
 * Applies a patch to `exact`, the result of parseExact, and changes it in place. Throws 422, and NotLoaded for a type
 * whose elements are not loaded yet.
 */
export const applyPathPatch = (
  elements: Elements,
  type: string,
  exact: Exact,
  operations: readonly PathOperation[],
): Exact => {
  // Paths compare values, so they are evaluated on a copy with plain numbers. Each change is made in both.
  const plain = JSON.parse(JSON.stringify(exact)) as Exact
  const emptied = new Set<unknown>()
  const resource = { exact, plain, emptied }
  const targets = createPatchedElements(elements, type, plain)
  const changes = {
    ...createElementChanges(elements, targets, resource),
    ...createListChanges(elements, targets, resource),
  }

  for (const [number, operation] of operations.entries()) {
    const { kind, path } = operation
    const fail = (why: string) => PatchPath(number, path.slice(0, 200), why)
    const steps = parsePatchPath(path, type)
    if (steps === undefined)
      throw fail(`a path begins with ${type} and leads to its elements by names, indexes, where, first, last, ofType`)
    changes[kind]({ operation, steps, fail })
  }
  removeEmpty(exact, emptied)
  return exact
}
