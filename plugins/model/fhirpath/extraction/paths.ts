/**
 * An expression → the plain paths through JSON that it means, each with the FHIR type at its end. Made once, when a
 * parameter is installed; the result is data, kept in the catalog.
 */

import type { ContextType, Members } from '../../snapshot/members.ts'
import type { Expression } from '../parse.ts'

/** A test on the value a path has reached. */
export type PathTest =
  | { readonly test: 'equals'; readonly member: string; readonly value: string | number | boolean }
  | { readonly test: 'extension'; readonly url: string }
  /** The reference at hand points at a resource of this type. */
  | { readonly test: 'refers'; readonly type: string }
  | { readonly test: 'exists'; readonly member: string }

export type PathStep =
  | { readonly step: 'member'; readonly name: string; readonly many: boolean }
  | { readonly step: 'where'; readonly where: PathTest }
  /** Only the item at this place of all that the path reaches. */
  | { readonly step: 'index'; readonly at: number }

/** `exists` of some member, against a constant: makes one boolean of the whole resource. */
export interface BooleanExpression {
  readonly anyOf: readonly string[]
  /** A member whose value `false` counts as not there. */
  readonly notFalse: readonly string[]
}

export interface ElementPath {
  readonly steps: readonly PathStep[]
  /** FHIR type of the values: `CodeableConcept`, `boolean`, `Observation.component`. */
  readonly type: ContextType
  /** Value set that a `code` must be from: its systems are implied. */
  readonly binding?: string
  readonly judgement?: BooleanExpression
  /** Starts at the resource, not at the element a composite stands on. */
  readonly root?: true
}

/** Thrown for what cannot be turned into paths; fhirpath.js takes over. */
export class NeedsInterpreter extends Error {}

/** Types that are specialised from another: `ofType(uri)` means them too. https://hl7.org/fhir/R4/datatypes.html */
const PARENT: Readonly<Record<string, string>> = {
  ...Object.fromEntries(['canonical', 'url', 'oid', 'uuid'].map((one) => [one, 'uri'])),
  ...Object.fromEntries(['code', 'id', 'markdown'].map((one) => [one, 'string'])),
  ...Object.fromEntries(['positiveint', 'unsignedint'].map((one) => [one, 'integer'])),
  ...Object.fromEntries(
    ['age', 'duration', 'count', 'distance', 'simplequantity', 'moneyquantity'].map((one) => [one, 'quantity']),
  ),
}
/** R4 writes some names in another case (`DateTime`). */
const isOfType = (type: string, wanted: string): boolean => {
  const [one, other] = [type.toLowerCase(), wanted.toLowerCase()]
  return one === other || PARENT[one] === other
}
const literalOf = (expression: Expression | undefined): string | number | boolean => {
  if (expression?.kind !== 'literal') throw new NeedsInterpreter('a constant is expected')
  return expression.value
}

/** `expression` as `readPathExpression` gives it, `resource` is the type the expression starts from, `start` the branches its `$this` stands for. */
export const toPaths = (
  expression: Expression,
  shapes: Members,
  resource: string,
  start: readonly ElementPath[] = [{ steps: [], type: resource }],
): readonly ElementPath[] => {
  const walk = (one: Expression | undefined): readonly ElementPath[] => {
    if (one === undefined) return start
    switch (one.kind) {
      case 'this':
        return start
      case 'variable':
        return [{ steps: [], type: resource, root: true }]
      case 'member':
        return member(one)
      case 'item':
        return indexed(walk(one.on), Number(literalOf(one.index)))
      case 'call':
        return call(one)
      case 'binary':
        if (one.operator === '|') return [...walk(one.left), ...walk(one.right)]
        if (one.operator === 'and') return judge(one.left, one.right)
        throw new NeedsInterpreter(one.operator)
      default:
        throw new NeedsInterpreter(one.kind)
    }
  }
  const member = ({ on, name }: Extract<Expression, { kind: 'member' }>): readonly ElementPath[] => {
    // `Patient.name`: the type's own name at the start means the resource.
    if (on === undefined && /^[A-Z]/.test(name)) {
      if (name === resource || name === 'Resource' || name === 'DomainResource') return [{ steps: [], type: resource }]
      return []
    }
    return walk(on).flatMap((branch) =>
      shapes.children(branch.type, name).map(({ member: key, context, many, binding }) => ({
        ...branch,
        steps: [...branch.steps, { step: 'member', name: key, many } as const],
        type: context,
        ...(binding === undefined ? {} : { binding }),
      })),
    )
  }
  const call = ({ on, name, arguments: [first] }: Extract<Expression, { kind: 'call' }>): readonly ElementPath[] => {
    const from = walk(on)
    const also = (where: PathTest, branches = from): readonly ElementPath[] =>
      branches.map((branch) => ({ ...branch, steps: [...branch.steps, { step: 'where', where }] }))
    if (name === 'extension')
      return also(
        { test: 'equals', member: 'url', value: literalOf(first) },
        from.map((branch) => ({
          ...branch,
          steps: [...branch.steps, { step: 'member', name: 'extension', many: true }],
          type: 'Extension',
        })),
      )
    if (name === 'where' && first !== undefined) return also(toTest(first))
    if (name === 'ofType' && first?.kind === 'member') return from.filter(({ type }) => isOfType(type, first.name))
    if (name === 'first') return indexed(from, 0)
    throw new NeedsInterpreter(`${name}()`)
  }
  /** `A.exists() and A != false`: true when there is an A that is not false. */
  const judge = (left: Expression, right: Expression): readonly ElementPath[] => {
    if (left.kind !== 'call' || left.name !== 'exists' || right.kind !== 'binary' || right.operator !== '!=')
      throw new NeedsInterpreter('and')
    if (literalOf(right.right) !== false) throw new NeedsInterpreter('!=')
    const members = walk(left.on).map(({ steps }) => {
      const [only] = steps
      if (steps.length !== 1 || only?.step !== 'member') throw new NeedsInterpreter('a path inside a condition')
      return only.name
    })
    const booleans = walk(right.left)
      .filter(({ type }) => type === 'boolean')
      .map(({ steps }) => (steps[0] as Extract<PathStep, { step: 'member' }>).name)
    return [{ steps: [], type: 'boolean', judgement: { anyOf: members, notFalse: booleans } }]
  }
  return walk(expression)
}

const indexed = (branches: readonly ElementPath[], at: number): readonly ElementPath[] =>
  branches.map((branch) => ({ ...branch, steps: [...branch.steps, { step: 'index', at }] }))

const toTest = (condition: Expression): PathTest => {
  if (condition.kind === 'type' && condition.operator === 'is') {
    const { on, type } = condition
    if (on.kind === 'call' && on.name === 'resolve' && on.on === undefined) return { test: 'refers', type }
  }
  if (condition.kind === 'binary' && condition.operator === '=') {
    const { left, right } = condition
    if (left.kind === 'member' && left.on === undefined)
      return { test: 'equals', member: left.name, value: literalOf(right) }
  }
  if (condition.kind === 'call' && condition.name === 'hasExtension' && condition.on === undefined)
    return { test: 'extension', url: String(literalOf(condition.arguments[0])) }
  if (condition.kind === 'call' && condition.name === 'exists' && condition.on?.kind === 'member') {
    const { on, name } = condition.on
    if (on === undefined) return { test: 'exists', member: name }
  }
  throw new NeedsInterpreter('this condition')
}
