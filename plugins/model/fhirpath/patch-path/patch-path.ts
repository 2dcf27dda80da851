/**
 * Parses and resolves the FHIRPath of a patch. It accepts element names, indexes, and `where`, `first`, `last`, `single`,
 * `extension` and `ofType`. These suffice to select elements of a resource; the rest of FHIRPath is refused, because a client
 * could use it for expensive evaluations.
 * https://hl7.org/fhir/R4/fhirpatch.html
 */

import { isObject } from '../../json/exact.ts'
import type { Elements, Place } from '../../snapshot/element-index.ts'
import { type Expression, NotSupported, parse } from '../parse.ts'

/** A condition of `where`: the elements that `steps` select equal a literal, differ from it, or exist. */
export type PatchCriterion =
  | { readonly steps: readonly PatchStep[]; readonly operator: '=' | '!='; readonly literal: string | number | boolean }
  | { readonly steps: readonly PatchStep[]; readonly operator: 'exists' }

export type PatchStep =
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'index'; readonly index: number }
  | { readonly kind: 'first' | 'last' | 'single' }
  | { readonly kind: 'type'; readonly name: string }
  /** A disjunction of conjunctions: an element matches if all criteria of one inner list hold. */
  | { readonly kind: 'where'; readonly any: readonly (readonly PatchCriterion[])[] }

const MAX_CHARACTERS = 1_000
const MAX_STEPS = 50

const LITERAL = /'(?:[^'\\]|\\.)*'|`[^`]+`/g
/**
 * Matches what the subset excludes: operators other than `=` and `!=`, and parentheses that are not those of a call. It is
 * tested on the path after each string literal was replaced by `0` and each name in backticks by `a`.
 */
const BEYOND = /[^A-Za-z0-9_\s.$!=()[\]-]|-(?!\d)|(?:^|[^A-Za-z0-9_\s])\s*\(|\b(?:and|or)\s*\(/

/** Thrown inside this file for a path outside of the subset. */
class NoPath extends Error {}

const isNoPath = (): never => {
  throw new NoPath()
}

const literalOf = (expression: Expression | undefined): string | number | boolean => {
  if (expression?.kind === 'literal') return expression.value
  const value = expression?.kind === 'negative' && expression.of.kind === 'literal' ? expression.of.value : undefined
  return typeof value === 'number' ? -value : isNoPath()
}

/** The name of the type that `ofType(Quantity)` or `ofType(FHIR.Quantity)` asks for, without the namespace. */
const typeNameOf = (expression: Expression | undefined): string => {
  // `ofType(true)`: read as a type name that no type has, so it selects nothing.
  if (expression?.kind === 'literal' && typeof expression.value === 'boolean') return String(expression.value)
  if (expression?.kind !== 'member') return isNoPath()
  const { on, name } = expression
  return on === undefined || (on.kind === 'member' && on.on === undefined) ? name : isNoPath()
}

const callSteps = (name: string, given: readonly Expression[]): readonly PatchStep[] => {
  const [first] = given
  if (given.length === 0) {
    if (name === 'first' || name === 'last' || name === 'single') return [{ kind: name }]
    return name === 'exists' ? [{ kind: 'name', name: 'exists()' }] : isNoPath()
  }
  if (given.length > 1) return isNoPath()
  if (name === 'where') return [{ kind: 'where', any: criteriaOf(first as Expression) }]
  if (name === 'ofType' || name === 'as') return [{ kind: 'type', name: typeNameOf(first) }]
  if (name !== 'extension') return isNoPath()
  const criterion: PatchCriterion = {
    ...{ steps: [{ kind: 'name', name: 'url' }], operator: '=', literal: literalOf(first) },
  }
  return [
    { kind: 'name', name },
    { kind: 'where', any: [[criterion]] },
  ]
}

/** The steps of a chain of members, calls and indexes. `isStart` recognizes the node at which the chain may begin. */
const stepsOf = (expression: Expression, isStart: (start: Expression) => boolean): readonly PatchStep[] => {
  const parts: (readonly PatchStep[])[] = []
  let one: Expression | undefined = expression
  for (; one !== undefined && !isStart(one); one = one.on) {
    if (one.kind === 'member') parts.push([{ kind: 'name', name: one.name }])
    else if (one.kind === 'call') parts.push(callSteps(one.name, one.arguments))
    else if (one.kind === 'item') {
      const index = literalOf(one.index)
      if (typeof index !== 'number' || !Number.isInteger(index) || index < 0) return isNoPath()
      parts.push([{ kind: 'index', index }])
    } else return isNoPath()
  }
  const steps = parts.reverse().flat()
  return steps.length > MAX_STEPS ? isNoPath() : steps
}

const isThis = ({ kind }: Expression): boolean => kind === 'this'

const criterionOf = (expression: Expression): PatchCriterion => {
  if (expression.kind === 'binary') {
    const { operator, left, right } = expression
    if (operator !== '=' && operator !== '!=') return isNoPath()
    const steps = stepsOf(left, isThis)
    return isExists(steps.at(-1)) ? isNoPath() : { steps, operator, literal: literalOf(right) }
  }
  const steps = stepsOf(expression, isThis)
  return isExists(steps.at(-1)) ? { steps: steps.slice(0, -1), operator: 'exists' } : isNoPath()
}

const isExists = (step: PatchStep | undefined): boolean => step?.kind === 'name' && step.name === 'exists()'

const operandsOf = (expression: Expression, operator: string): readonly Expression[] =>
  expression.kind === 'binary' && expression.operator === operator
    ? [...operandsOf(expression.left, operator), ...operandsOf(expression.right, operator)]
    : [expression]

const criteriaOf = (expression: Expression): readonly (readonly PatchCriterion[])[] =>
  operandsOf(expression, 'or').map((all) => operandsOf(all, 'and').map(criterionOf))

/** The steps after the type name; undefined if the path is outside of the subset. */
export const parsePatchPath = (path: string, type: string): readonly PatchStep[] | undefined => {
  if (path.length > MAX_CHARACTERS) return undefined
  if (BEYOND.test(path.replace(LITERAL, (one) => (one.startsWith('`') ? 'a' : '0')))) return undefined
  const isRoot = (start: Expression): boolean =>
    start.kind === 'member' && start.on === undefined && [type, 'Resource', 'DomainResource'].includes(start.name)
  try {
    let hasRoot = false
    const steps = stepsOf(parse(path), (start) => {
      hasRoot ||= isRoot(start)
      return hasRoot
    })
    return hasRoot && !steps.some(isExists) ? steps : undefined
  } catch (error) {
    if (error instanceof NotSupported || error instanceof NoPath) return undefined
    throw error
  }
}

/** An element of a resource: `keys` are the member names and indexes from the root. */
export interface PatchTarget {
  readonly keys: readonly (string | number)[]
  readonly value: unknown
  /** Where the child elements are defined; undefined if the definition gives the element no type. */
  readonly inside: Place | undefined
}

/** Finds the member of a choice element that `holder` has: for `value` e.g. the key `valueQuantity` and the type `Quantity`. */
export const choiceIn = (
  holder: Record<string, unknown>,
  name: string,
  choice: readonly string[],
): { readonly key: string; readonly type: string } | undefined => {
  for (const type of choice) {
    const key = `${name}${type.charAt(0).toUpperCase()}${type.slice(1)}`
    if (Object.hasOwn(holder, key) || Object.hasOwn(holder, `_${key}`)) return { key, type }
  }
  return undefined
}

const childrenOf = (elements: Elements, spot: PatchTarget, name: string): readonly PatchTarget[] => {
  const { keys, value, inside } = spot
  if (!isObject(value) || inside === undefined) return []
  const place =
    inside.type === 'Resource' && typeof value.resourceType === 'string'
      ? { type: value.resourceType, path: '' }
      : inside
  const shape = elements.find(place, name)
  if (shape === undefined) return []
  const chosen = shape.choice === undefined ? { key: name, type: '' } : choiceIn(value, name, shape.choice)
  if (chosen === undefined || !Object.hasOwn(value, chosen.key)) return []
  const within = shape.choice === undefined ? shape.inside : { type: chosen.type, path: '' }
  const found = value[chosen.key]
  if (!Array.isArray(found)) return [{ keys: [...keys, chosen.key], value: found, inside: within }]
  return found.map((item, at) => ({ keys: [...keys, chosen.key, at], value: item, inside: within }))
}

/** Number of elements that the paths of one patch may still visit. */
export interface StepBudget {
  left: number
  /** Makes the error that is thrown when the budget is used up. */
  spent(): Error
}

const holds = (elements: Elements, spot: PatchTarget, criterion: PatchCriterion, budget: StepBudget): boolean => {
  const found = resolve(elements, [spot], criterion.steps, budget)
  if (criterion.operator === 'exists') return found.length > 0
  const [only] = found
  if (found.length !== 1 || only === undefined) return false
  return (only.value === criterion.literal) === (criterion.operator === '=')
}

/**
 * The elements that the steps select, starting at `from`. Throws NotLoaded if the definition of a type is not loaded yet, and
 * the error of `budget.spent()`.
 */
export const resolve = (
  elements: Elements,
  from: readonly PatchTarget[],
  steps: readonly PatchStep[],
  budget: StepBudget,
): readonly PatchTarget[] => {
  let spots = from
  for (const step of steps) {
    budget.left -= spots.length
    if (budget.left < 0) throw budget.spent()
    switch (step.kind) {
      case 'name':
        spots = spots.flatMap((spot) => childrenOf(elements, spot, step.name))
        break
      case 'index':
        spots = spots.slice(step.index, step.index + 1)
        break
      case 'first':
        spots = spots.slice(0, 1)
        break
      case 'last':
        spots = spots.slice(-1)
        break
      case 'single':
        spots = spots.length === 1 ? spots : []
        break
      case 'type':
        spots = spots.filter(({ value, inside }) =>
          inside?.type === 'Resource'
            ? isObject(value) && value.resourceType === step.name
            : inside?.type.toLowerCase() === step.name.toLowerCase(),
        )
        break
      case 'where':
        spots = spots.filter((spot) => step.any.some((all) => all.every((one) => holds(elements, spot, one, budget))))
        break
    }
  }
  return spots
}
