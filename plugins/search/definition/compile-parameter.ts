/** Compiles one SearchParameter into its columns for one resource type. https://hl7.org/fhir/R4/searchparameter.html */

import {
  type ElementPath,
  type Expression,
  type Members,
  NeedsInterpreter,
  print,
  readPathExpression,
  toPaths,
  unionOperands,
} from '../../model/service.ts'
import { isIndexable } from './indexed-types.ts'
import type { IndexKind } from './kind.ts'
import type {
  ParameterType,
  SearchParameterResource,
  StoredColumn,
  StoredComponent,
  StoredParameter,
} from './stored-definitions.ts'

/** Parameters without a column: the search reads them from the resource row or handles them separately. */
export const SPECIAL = new Set(['_id', '_lastUpdated', '_text', '_content', '_query', '_filter', '_list', '_has'])
export const ABSTRACT_TYPES = new Set(['Resource', 'DomainResource'])

/** Index kind of a parameter type. Has no prototype, because a client may post any text as the type. */
const KIND: Partial<Record<ParameterType, IndexKind>> = Object.assign(Object.create(null), {
  number: 'quantity',
  quantity: 'quantity',
  date: 'date',
  string: 'string',
  token: 'token',
  reference: 'reference',
  uri: 'uri',
  // `near` is the only special parameter with a column. Only values of type position are indexed for this kind.
  special: 'position',
} satisfies Partial<Record<ParameterType, IndexKind>>)

/** The resource type that an expression begins with. Undefined when it names none. */
const rootOf = (expression: Expression | undefined): string | undefined => {
  if (expression === undefined) return undefined
  if (expression.kind === 'member') {
    if (expression.on === undefined) return /^[A-Z]/.test(expression.name) ? expression.name : undefined
    return rootOf(expression.on)
  }
  if (expression.kind === 'call' || expression.kind === 'item' || expression.kind === 'type')
    return rootOf(expression.on)
  if (expression.kind === 'binary') return rootOf(expression.left)
  return undefined
}

/** Splits `E.where(resolve() is T)` into E and T. Undefined for any other expression. */
const splitRefers = (expression: Expression): { on: Expression; refers: string } | undefined => {
  if (expression.kind !== 'call' || expression.name !== 'where') return undefined
  const [condition] = expression.arguments
  if (condition?.kind !== 'type' || condition.operator !== 'is') return undefined
  const { on } = condition
  if (on.kind !== 'call' || on.name !== 'resolve' || on.on !== undefined) return undefined
  return { on: expression.on ?? { kind: 'this' }, refers: condition.type }
}

// A few R4 composites declare a component type that contradicts their elements' types; the element types are used.
const REFERENCES = new Set(['Reference', 'canonical'])
const TOKENS = new Set(['code', 'Coding', 'CodeableConcept', 'Identifier', 'boolean'])
const kindOfComponent = (declared: IndexKind | undefined, types: readonly string[]): IndexKind | undefined => {
  if (types.length > 0 && types.every((type) => REFERENCES.has(type))) return 'reference'
  if (types.length > 0 && types.every((type) => TOKENS.has(type))) return 'token'
  return declared
}

const isIndexAnywhere = ({ steps }: ElementPath): boolean =>
  steps.some((step, at) => {
    if (step.step !== 'index') return false
    const before = steps.slice(0, at)
    const repeated = before.filter((one) => one.step === 'member' && one.many)
    return repeated.length > 1 || before.at(-1)?.step !== 'member'
  })

const branchesOf = (expression: Expression, shapes: Members, resource: string, start?: readonly ElementPath[]) => {
  const branches = toPaths(expression, shapes, resource, start)
  // An index applies to the whole collection. A path can express it only where one element repeats, directly before
  // the index; everything else is left to fhirpath.js.
  if (branches.some(isIndexAnywhere)) throw new NeedsInterpreter('an index')
  return branches
}

export interface CompilerParts {
  readonly shapes: Members
  /** Type of the parameter with a URL, which decides the kind of a composite's component. */
  readonly typeOf: (url: string) => ParameterType | undefined
}

/** Compiles parameters one by one and collects their columns in `columns`. */
export const createParameterCompiler = ({ shapes, typeOf }: CompilerParts) => {
  const columns: StoredColumn[] = []
  const places = new Map<string, number>()
  const place = (column: StoredColumn): number => {
    const key = `${column.type} ${column.kind} ${column.expression}`
    const found = places.get(key)
    if (found !== undefined) return found
    columns.push(column)
    places.set(key, columns.length - 1)
    return columns.length - 1
  }

  const simple = (base: string, kind: IndexKind, part: Expression): StoredParameter['columns'][number] | undefined => {
    const expression = print(part)
    try {
      const refers = kind === 'reference' ? splitRefers(part) : undefined
      const branches = branchesOf(refers?.on ?? part, shapes, base).filter(({ type }) => isIndexable(kind, type))
      if (branches.length === 0) return undefined
      if (refers === undefined) return { column: place({ type: base, kind, expression, branches }) }
      const of = { expression: print(refers.on), refers: refers.refers }
      return {
        column: place({ type: base, kind, expression: of.expression, branches }),
        present: place({ type: base, kind: 'alias', expression, branches, of }),
        refers: refers.refers,
      }
    } catch (error) {
      if (!(error instanceof NeedsInterpreter)) throw error
      return { column: place({ type: base, kind, expression, branches: [], exotic: true }) }
    }
  }

  const composite = (
    base: string,
    parameter: SearchParameterResource,
    part: Expression,
  ): { column: number; kinds: IndexKind[] } | undefined => {
    try {
      const found = branchesOf(part, shapes, base)
      const [element] = found
      if (element === undefined || found.length !== 1) return undefined
      const start: ElementPath = { steps: [], type: element.type }
      const components: StoredComponent[] = []
      for (const { definition, expression } of parameter.component ?? []) {
        const all = branchesOf(readPathExpression(expression), shapes, base, [start])
        const declared = KIND[typeOf(definition) ?? 'special']
        const kind = kindOfComponent(declared, [...new Set(all.map(({ type }) => type))])
        if (kind === undefined) return undefined
        components.push({ kind, branches: all.filter(({ type }) => isIndexable(kind, type)) })
      }
      if (components.length < 2 || components.some(({ branches }) => branches.length === 0)) return undefined
      if (components[0]?.kind !== 'token' && components[0]?.kind !== 'reference') return undefined
      const spelled = (parameter.component ?? []).map(({ expression }) => expression).join(' $ ')
      const column = place({
        type: base,
        kind: 'composite',
        expression: `${print(part)} $ ${spelled} : ${components.map(({ kind }) => kind).join(' ')}`,
        branches: [element],
        components,
      })
      return { column, kinds: components.map(({ kind }) => kind) }
    } catch (error) {
      if (error instanceof NeedsInterpreter || error instanceof SyntaxError) return undefined
      throw error
    }
  }

  const compileFor = (base: string, parameter: SearchParameterResource): StoredParameter | undefined => {
    const { code, url, type, expression } = parameter
    const shared = { code, url, type, base, targets: parameter.target ?? [] }
    if (SPECIAL.has(code)) return undefined
    if (expression === undefined) return undefined
    let parts: readonly Expression[]
    try {
      parts = unionOperands(readPathExpression(expression))
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error
      const kind = KIND[type]
      if (kind === undefined) return undefined
      return {
        ...shared,
        columns: [{ column: place({ type: base, kind, expression, branches: [], exotic: true }) }],
        components: [],
      }
    }
    const ours = parts.filter((part) => {
      const root = rootOf(part)
      return root === undefined || root === base || ABSTRACT_TYPES.has(root)
    })
    if (type === 'composite') {
      const made = ours.map((part) => composite(base, parameter, part)).filter((one) => one !== undefined)
      const [first] = made
      if (first === undefined) return undefined
      return { ...shared, columns: made.map(({ column }) => ({ column })), components: first.kinds }
    }
    const kind = KIND[type]
    if (kind === undefined) return undefined
    const made = ours.map((part) => simple(base, kind, part)).filter((one) => one !== undefined)
    return made.length === 0 ? undefined : { ...shared, columns: made, components: [] }
  }

  return { columns, place, compileFor }
}
