/**
 * Index rows of a resource, by code generated once per resource type: every element is visited once, whatever number
 * of parameters asks for it. Needs no more than the branches of the columns.
 */
import type { Branch, Step, Test } from './branches.ts'
import type { Convert, Converters, Kind } from './convert.ts'
import {
  COMPOSITE_WIDTH,
  DATE_WIDTH,
  QUANTITY_WIDTH,
  REFERENCE_WIDTH,
  Rows,
  STRING_WIDTH,
  TOKEN_WIDTH,
} from './rows.ts'

type Json = Record<string, unknown>

export interface ExtractorComponent {
  readonly kind: Kind
  readonly branches: readonly Branch[]
}

/** A column with its number. */
export interface ExtractorColumn {
  readonly code: number
  readonly kind: Kind | 'composite' | 'alias'
  readonly branches: readonly Branch[]
  readonly components?: readonly ExtractorComponent[]
  readonly refers?: string
  /** For what cannot be generated: nodes of the expression in a resource, with their FHIR types. */
  readonly nodes?: (resource: Json) => readonly { readonly type: string; readonly value: unknown }[]
}

export type Extract = (resource: Json, rows: Rows) => void

/** What happens at the end of a path: source text for the value in a variable. */
type Emit = (variable: string) => string

interface Node {
  readonly step: Step | undefined
  readonly children: Map<string, Node>
  readonly emits: Emit[]
}

const newNode = (step?: Step): Node => ({ step, children: new Map(), emits: [] })

const descend = (root: Node, steps: readonly Step[]): Node => {
  let node = root
  for (const step of steps) {
    const key = JSON.stringify(step)
    const next = node.children.get(key) ?? newNode(step)
    node.children.set(key, next)
    node = next
  }
  return node
}

/** Path through members as a JavaScript property read; names come from definitions and are quoted. */
const read = (on: string, member: string): string => `${on}[${JSON.stringify(member)}]`

const toCondition = (test: Test, variable: string): string => {
  switch (test.test) {
    case 'equals':
      return `${read(variable, test.member)} === ${JSON.stringify(test.value)}`
    case 'exists':
      return `${read(variable, test.member)} != null`
    case 'extension':
      return `C.hasExtension(${variable}, ${JSON.stringify(test.url)})`
    case 'refers':
      return `C.refers(${variable}, ${JSON.stringify(test.type)}, r)`
  }
}

const generate = (node: Node, variable: string, depth: number): string => {
  const inside = (child: Node, name: string): string =>
    child.emits.map((emit) => emit(name)).join('') + generate(child, name, depth + 1)
  let source = ''
  for (const [key, child] of node.children) {
    const { step } = child as { step: Step }
    const name = `v${depth}_${[...node.children.keys()].indexOf(key)}`
    if (step.step === 'where') {
      source += `if (${toCondition(step.where, variable)}) {${inside(child, variable)}}\n`
      continue
    }
    // An index stands behind a repeated member only, where the member's own step has made the list.
    if (step.step === 'index') continue
    if (!step.many) {
      source += `const ${name} = ${read(variable, step.name)}; if (${name} != null) {${inside(child, name)}}\n`
      continue
    }
    const list = `l${name}`
    source += `const ${list} = ${read(variable, step.name)}; if (Array.isArray(${list})) {`
    for (const one of child.children.values())
      if (one.step?.step === 'index')
        source += `{const x = ${list}[${one.step.at}]; if (x != null) {${inside(one, 'x')}}}`
    const each = inside(child, name)
    if (each !== '') source += `for (const ${name} of ${list}) if (${name} != null) {${each}}`
    source += '}\n'
  }
  return source
}

/** Compiles the emits of one list of columns. `converts` collects the functions the source calls by number. */
const addColumn = (root: Node, column: ExtractorColumn, converters: Converters, values: unknown[]): void => {
  const bind = (value: unknown): string => `V[${values.push(value) - 1}]`
  for (const { steps, type, judgement } of column.branches) {
    const node = descend(root, steps)
    if (column.kind === 'composite') {
      const run = bind(compileComposite(column, converters))
      node.emits.push((variable) => `${run}(r, ${variable}, o);`)
    } else if (column.kind === 'alias') {
      const refers = JSON.stringify(column.refers)
      node.emits.push((variable) => `if (C.refers(${variable}, ${refers}, r)) o.present.push(${column.code});`)
    } else {
      const convert = bind(converters.of(column.kind, type))
      if (judgement !== undefined) {
        const judge = bind((resource: Json) =>
          judgement.anyOf.some(
            (member) =>
              resource[member] != null && !(judgement.notFalse.includes(member) && resource[member] === false),
          ),
        )
        node.emits.push((variable) => `${convert}(o, ${column.code}, ${judge}(${variable}));`)
      } else node.emits.push((variable) => `${convert}(o, ${column.code}, ${variable});`)
    }
  }
  if (column.nodes !== undefined) {
    const { nodes, code, kind } = column
    const run = bind((resource: Json, rows: Rows) => {
      for (const { type, value } of nodes(resource)) converters.of(kind as Kind, type)?.(rows, code, value)
    })
    root.emits.push(() => `${run}(r, o);`)
  }
}

const compileTree = (
  columns: readonly ExtractorColumn[],
  converters: Converters,
): ((r: Json, start: unknown, o: Rows) => void) => {
  const values: unknown[] = []
  const root = newNode()
  for (const column of columns) addColumn(root, column, converters, values)
  const body = root.emits.map((emit) => emit('s')).join('') + generate(root, 's', 0)
  // The source holds nothing but member names and constants from definitions, all quoted as JSON.
  return new Function('C', 'V', `"use strict"; return (r, s, o) => {${body}}`)(converters, values)
}

/** Rows of every combination of the components of one element. The rarest component is asked first. */
const compileComposite = (
  { code, components = [] }: ExtractorColumn,
  converters: Converters,
): ((r: Json, element: unknown, o: Rows) => void) => {
  const parts = components.map(({ kind, branches }) => {
    const rooted = branches.filter(({ root }) => root === true)
    const own = branches.filter(({ root }) => root !== true)
    const compile = (list: readonly Branch[]) =>
      list.length === 0 ? undefined : compileTree([{ code: 0, kind, branches: list }], converters)
    return { kind, fromElement: compile(own), fromRoot: compile(rooted) }
  })
  return (resource, element, rows) => {
    const found: Rows[] = []
    for (let at = parts.length - 1; at >= 0; at -= 1) {
      const part = parts[at] as (typeof parts)[number]
      const scratch = new Rows()
      part.fromElement?.(resource, element, scratch)
      part.fromRoot?.(resource, resource, scratch)
      if (isEmpty(scratch, part.kind)) return
      found[at] = scratch
    }
    combine(
      rows,
      code,
      parts.map(({ kind }) => kind),
      found,
    )
  }
}

const isEmpty = (rows: Rows, kind: Kind): boolean =>
  (kind === 'uri' ? rows.string : rows[kind === 'quantity' ? 'quantity' : kind]).length === 0

/** A composite row under construction: column, value, system, low, high, value2, system2, low2, high2, key. */
type CompositeRow = (number | string)[]

const combine = (rows: Rows, code: number, kinds: readonly Kind[], found: readonly Rows[]): void => {
  let partial: CompositeRow[] = [[code, 0, 0, 0, 0, 0, 0, 0, 0, '']]
  for (const [at, kind] of kinds.entries()) {
    const next: CompositeRow[] = []
    for (const row of partial) for (const fill of slotsOf(kind, found[at] as Rows, at)) next.push(fill([...row]))
    partial = next
  }
  for (const row of partial) if (row.length === COMPOSITE_WIDTH) rows.composite.push(...row)
}

/** Where the value of the component at place `at` goes: the first has `value`, later numbers low and high, then low2. */
const slotsOf = (kind: Kind, rows: Rows, at: number): ((row: CompositeRow) => CompositeRow)[] => {
  const fills: ((row: CompositeRow) => CompositeRow)[] = []
  const put = (pairs: readonly (readonly [number, number | string])[]): void =>
    void fills.push((row) => {
      for (const [slot, value] of pairs) row[slot] = value
      return row
    })
  const coded = at === 0 ? 1 : 5
  const ranged = at < 2 ? 3 : 7
  if (kind === 'token')
    for (let n = 0; n < rows.token.length; n += TOKEN_WIDTH)
      // The rows of displays beside the codes have no place here.
      if (rows.token[n] === 0)
        put([
          [coded, rows.token[n + 1] as number],
          [coded + 1, rows.token[n + 2] as number],
        ])
  if (kind === 'reference')
    for (let n = 0; n < rows.reference.length; n += REFERENCE_WIDTH) put([[coded, rows.reference[n + 1] as number]])
  if (kind === 'date')
    for (let n = 0; n < rows.date.length; n += DATE_WIDTH)
      put([
        [ranged, rows.date[n + 1] as number],
        [ranged + 1, rows.date[n + 2] as number],
      ])
  if (kind === 'quantity')
    for (let n = 0; n < rows.quantity.length; n += QUANTITY_WIDTH) {
      const [low, high, unitCode, system] = rows.quantity.slice(n + 1, n + 5) as [number, number, number, number]
      put([
        [ranged, low],
        [ranged + 1, high],
        ...(at === 1
          ? ([
              [5, unitCode],
              [6, system],
            ] as const)
          : []),
      ])
    }
  if (kind === 'string' || kind === 'uri')
    for (let n = 0; n < rows.string.length; n += STRING_WIDTH) put([[9, rows.string[n + 1] as string]])
  return fills
}

/** Generates the extractor of one resource type. */
export const compileExtractor = (columns: readonly ExtractorColumn[], converters: Converters): Extract => {
  const run = compileTree(columns, converters)
  return (resource, rows) => run(resource, resource, rows)
}

export type { Convert }
