/**
 * The FHIRPath of a patch: steps to elements, indexes, and `where`, `first`, `last`, `single`, `extension`, `ofType`. A path
 * has to lead to places of a resource, so that more of the language would be of no use, and could be made to cost much.
 * https://hl7.org/fhir/R4/fhirpatch.html
 */

import { isObject } from '../../json/exact.ts'
import type { Elements, Place } from '../../snapshot/element-index.ts'

/** A condition of `where`: elements compared with a literal, or there at all. */
export type PatchCriterion =
  | { readonly steps: readonly PatchStep[]; readonly operator: '=' | '!='; readonly literal: string | number | boolean }
  | { readonly steps: readonly PatchStep[]; readonly operator: 'exists' }

export type PatchStep =
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'index'; readonly index: number }
  | { readonly kind: 'first' | 'last' | 'single' }
  | { readonly kind: 'type'; readonly name: string }
  /** All of one of them. */
  | { readonly kind: 'where'; readonly any: readonly (readonly PatchCriterion[])[] }

const TOKEN = /\s*(?:([A-Za-z_][A-Za-z0-9_]*)|`([^`]+)`|'((?:[^'\\]|\\.)*)'|(-?\d+(?:\.\d+)?)|(\$this|!=|[.[\]()=]))/y
const MAX_STEPS = 50
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', f: '\f' }

type Token =
  | { readonly is: 'name' | 'text' | 'sign'; readonly value: string }
  | { readonly is: 'number'; readonly value: number }

const tokensOf = (path: string): Token[] | undefined => {
  const tokens: Token[] = []
  TOKEN.lastIndex = 0
  const text = path.trimEnd()
  while (TOKEN.lastIndex < text.length) {
    const match = TOKEN.exec(text)
    if (match === null) return undefined
    const [, name, quoted, literal, number, sign] = match
    if (name !== undefined || quoted !== undefined) tokens.push({ is: 'name', value: (name ?? quoted) as string })
    else if (literal !== undefined)
      tokens.push({
        is: 'text',
        value: literal.replace(
          /\\(u[0-9A-Fa-f]{4}|.)/g,
          (_, escaped: string) =>
            ESCAPES[escaped] ??
            (escaped.length === 5 ? String.fromCharCode(Number.parseInt(escaped.slice(1), 16)) : escaped),
        ),
      })
    else if (number !== undefined) tokens.push({ is: 'number', value: Number(number) })
    else tokens.push({ is: 'sign', value: sign as string })
  }
  return tokens
}

/** Steps behind the name of the type; undefined for what is no such path. */
export const parsePatchPath = (path: string, type: string): readonly PatchStep[] | undefined => {
  const tokens = path.length > 1_000 ? undefined : tokensOf(path)
  if (tokens === undefined) return undefined
  let at = 0
  let isBroken = false
  const peek = (): Token | undefined => tokens[at]
  const takes = (is: Token['is'], value?: string): Token | undefined => {
    const token = tokens[at]
    if (token?.is !== is || (value !== undefined && token.value !== value)) return undefined
    at += 1
    return token
  }
  const needs = (is: Token['is'], value?: string): Token => {
    const token = takes(is, value)
    if (token === undefined) isBroken = true
    return token ?? { is: 'name', value: '' }
  }
  const literal = (): string | number | boolean => {
    const token = tokens[at]
    at += 1
    if (token?.is === 'text' || token?.is === 'number') return token.value
    if (token?.is === 'name' && (token.value === 'true' || token.value === 'false')) return token.value === 'true'
    isBroken = true
    return ''
  }
  const criterion = (): PatchCriterion => {
    const steps = chain(takes('sign', '$this') !== undefined)
    const last = steps.at(-1)
    if (last?.kind === 'name' && last.name === 'exists()') return { steps: steps.slice(0, -1), operator: 'exists' }
    const operator = takes('sign', '=') ? '=' : needs('sign', '!=') && '!='
    return { steps, operator, literal: literal() }
  }
  const criteria = (): readonly (readonly PatchCriterion[])[] => {
    const any: PatchCriterion[][] = [[criterion()]]
    while (!isBroken) {
      if (takes('name', 'and')) any.at(-1)?.push(criterion())
      else if (takes('name', 'or')) any.push([criterion()])
      else return any
    }
    return any
  }
  const call = (name: string): PatchStep => {
    let step: PatchStep = { kind: 'single' }
    if (name === 'first' || name === 'last' || name === 'single') step = { kind: name }
    else if (name === 'exists') step = { kind: 'name', name: 'exists()' }
    else if (name === 'where') step = { kind: 'where', any: criteria() }
    else if (name === 'ofType' || name === 'as') {
      let type = String(needs('name').value)
      if (takes('sign', '.')) type = String(needs('name').value)
      step = { kind: 'type', name: type }
    } else isBroken = true
    needs('sign', ')')
    return step
  }
  /** `isBegun`: something stands before it, so that a dot has to follow. */
  const chain = (isBegun: boolean): PatchStep[] => {
    const steps: PatchStep[] = []
    let begun = isBegun
    while (!isBroken && steps.length <= MAX_STEPS) {
      if (begun && takes('sign', '[')) {
        const index = Number(needs('number').value)
        needs('sign', ']')
        if (!Number.isInteger(index) || index < 0) isBroken = true
        steps.push({ kind: 'index', index })
        continue
      }
      if (begun && !takes('sign', '.')) return steps
      begun = true
      const name = String(needs('name').value)
      if (!takes('sign', '(')) steps.push({ kind: 'name', name })
      else if (name === 'extension') {
        const url = literal()
        needs('sign', ')')
        const criterion: PatchCriterion = { steps: [{ kind: 'name', name: 'url' }], operator: '=', literal: url }
        steps.push({ kind: 'name', name }, { kind: 'where', any: [[criterion]] })
      } else steps.push(call(name))
    }
    if (steps.length > MAX_STEPS) isBroken = true
    return steps
  }
  const start = peek()
  if (start?.is === 'name' && (start.value === type || start.value === 'Resource' || start.value === 'DomainResource'))
    at += 1
  else return undefined
  const steps = chain(true)
  const isWhole = at === tokens.length && !steps.some((step) => step.kind === 'name' && step.name === 'exists()')
  return isBroken || !isWhole ? undefined : steps
}

/** A place in a resource: names and indexes from its root, and what is there. */
export interface PatchTarget {
  readonly keys: readonly (string | number)[]
  readonly value: unknown
  /** Undefined for a primitive. */
  readonly inside: Place | undefined
}

/** `valueQuantity` for `value`, and its type. */
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

/** How many elements the paths of one patch may still look at. */
export interface StepBudget {
  left: number
  /** The error when nothing is left. */
  spent(): Error
}

const holds = (elements: Elements, spot: PatchTarget, criterion: PatchCriterion, budget: StepBudget): boolean => {
  const found = resolve(elements, [spot], criterion.steps, budget)
  if (criterion.operator === 'exists') return found.length > 0
  const [only] = found
  if (found.length !== 1 || only === undefined) return false
  return (only.value === criterion.literal) === (criterion.operator === '=')
}

/** Where steps lead from some places, in a resource that was parsed plainly. Throws NotLoaded, and what `budget` says. */
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
