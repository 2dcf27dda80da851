/** JSON members as FHIRPath sees them: a primitive is its value together with its `_name`. */
import { NotSupported } from '../parse.ts'
import { charge, type EvaluationBudget } from './budget.ts'
import { type Collection, ElementWithoutValue, EMPTY } from './values.ts'

/** Adds the values of one JSON member. */
const collect = (into: unknown[], object: Record<string, unknown>, name: string, siblingName: string): void => {
  const value = object[name]
  const sibling = object[siblingName]
  if (sibling === undefined) {
    if (Array.isArray(value)) for (const item of value) into.push(item)
    else if (value !== undefined && value !== null) into.push(value)
    return
  }
  const values: unknown[] = Array.isArray(value) ? value : [value]
  const siblings: unknown[] = Array.isArray(sibling) ? sibling : [sibling]
  for (let at = 0; at < Math.max(values.length, siblings.length); at++) {
    const one = values[at]
    if (one !== undefined && one !== null) into.push(one)
    else if (siblings[at] !== undefined && siblings[at] !== null) into.push(new ElementWithoutValue(siblings[at]))
  }
}

/** Reads members with these names of every object of a collection. */
export const reader = (names: readonly string[]): ((focus: Collection, work: EvaluationBudget) => Collection) => {
  const pairs = names.map((name) => [name, `_${name}`] as const)
  const [pair] = pairs
  if (pair === undefined) return () => EMPTY
  const [first, firstSibling] = pair
  return (focus, work) => {
    if (focus.length === 0) return EMPTY
    // The common case, without a copy: one object, one name, a list of complex values.
    if (focus.length === 1 && names.length === 1) {
      const object = focus[0] as Record<string, unknown>
      if (typeof object !== 'object' || object instanceof ElementWithoutValue) return EMPTY
      const value = object[first]
      if (object[firstSibling] === undefined)
        return value === undefined ? EMPTY : Array.isArray(value) ? value : [value]
    }
    const found: unknown[] = []
    for (const object of focus) {
      if (typeof object !== 'object' || object === null) continue
      if (object instanceof ElementWithoutValue) throw new NotSupported('extensions of a primitive')
      for (const [name, sibling] of pairs) collect(found, object as Record<string, unknown>, name, sibling)
    }
    charge(work, focus.length + found.length)
    return found
  }
}

/** Whether `reader` of these names finds anything: undefined where that takes reading. */
export const finder = (names: readonly string[]): ((focus: Collection) => boolean | undefined) => {
  const pairs = names.map((name) => [name, `_${name}`] as const)
  return (focus) => {
    if (focus.length !== 1) return focus.length === 0 ? false : undefined
    const object = focus[0] as Record<string, unknown> | null
    if (typeof object !== 'object' || object === null || object instanceof ElementWithoutValue) return undefined
    let found = false
    for (const [name, sibling] of pairs) {
      if (object[sibling] !== undefined) return undefined
      const value = object[name]
      if (value === null) return undefined
      if (Array.isArray(value) ? value.length > 0 : value !== undefined) found = true
    }
    return found
  }
}
