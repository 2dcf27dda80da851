/**
 * Extracts the index rows of a resource with code that is generated once for each resource type. The generated code
 * visits each element once, however many parameters use it. It is made from the paths of the columns only.
 */
import type { ElementPath, PathStep, PathTest } from '../../model/service.ts'
import { type IndexKind, MIME_TYPE } from '../definition/kind.ts'
import { isMimeTypes } from '../definition/mime-value-set.ts'
import { patientCodeKey } from '../definition/pair-key.ts'
import type { Convert } from './convert/convert.ts'
import type { Converters } from './convert/converters.ts'
import { shortened } from './hash.ts'
import {
  COMPOSITE,
  COMPOSITE_COLUMNS,
  DATE_COLUMNS,
  IndexEntries,
  QUANTITY,
  QUANTITY_COLUMNS,
  REFERENCE_COLUMNS,
  STRING_COLUMNS,
  TOKEN_COLUMNS,
} from './index-entries.ts'

type Json = Record<string, unknown>

export interface ExtractorComponent {
  readonly kind: IndexKind
  readonly branches: readonly ElementPath[]
}

/** A column with its code. */
export interface ExtractorColumn {
  readonly code: number
  readonly kind: IndexKind | 'composite' | 'alias'
  readonly branches: readonly ElementPath[]
  readonly components?: readonly ExtractorComponent[]
  readonly refers?: string
  /**
   * For expressions that are not plain paths: returns the values that the expression selects, with their FHIR types.
   */
  readonly nodes?: (resource: Json) => readonly { readonly type: string; readonly value: unknown }[]
}

export type Extract = (resource: Json, rows: IndexEntries) => void

/** Returns the source text for the end of a path; `variable` holds the value. */
type Emit = (variable: string) => string

interface ExtractorNode {
  readonly step: PathStep | undefined
  readonly children: Map<string, ExtractorNode>
  readonly emits: Emit[]
}

const newNode = (step?: PathStep): ExtractorNode => ({ step, children: new Map(), emits: [] })

const descend = (root: ExtractorNode, steps: readonly PathStep[]): ExtractorNode => {
  let node = root
  for (const step of steps) {
    const key = JSON.stringify(step)
    const next = node.children.get(key) ?? newNode(step)
    node.children.set(key, next)
    node = next
  }
  return node
}

/** Source text that reads a property. The name comes from a definition, so it is quoted. */
const read = (on: string, member: string): string => `${on}[${JSON.stringify(member)}]`

const toCondition = (test: PathTest, variable: string): string => {
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

const generate = (node: ExtractorNode, variable: string, depth: number): string => {
  const inside = (child: ExtractorNode, name: string): string =>
    child.emits.map((emit) => emit(name)).join('') + generate(child, name, depth + 1)
  let source = ''
  for (const [key, child] of node.children) {
    const { step } = child as { step: PathStep }
    const name = `v${depth}_${[...node.children.keys()].indexOf(key)}`
    if (step.step === 'where') {
      source += `if (${toCondition(step.where, variable)}) {${inside(child, variable)}}\n`
      continue
    }
    // An index always follows a repeating member, and the code for that member has generated it.
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
    // Not `for of`, because creating the iterator costs more than visiting a short array.
    const at = `n${name}`
    if (each !== '')
      source += `for (let ${at} = 0; ${at} < ${list}.length; ${at} += 1) {const ${name} = ${list}[${at}]; if (${name} != null) {${each}}}`
    source += '}\n'
  }
  return source
}

/** Source text that tests whether an element may have a value for a component. Most have none for the last one. */
const mayHave = (component: ExtractorComponent | undefined, variable: string): string => {
  const members = (component?.branches ?? []).map(({ steps: [first], root }) =>
    first?.step === 'member' ? read(root === true ? 'r' : variable, first.name) : undefined,
  )
  return members.length === 0 || members.includes(undefined)
    ? 'true'
    : members.map((member) => `${member} != null`).join(' || ')
}

/** Adds the code for one column. `values` collects the functions that the generated code calls by index. */
const addColumn = (root: ExtractorNode, column: ExtractorColumn, converters: Converters, values: unknown[]): void => {
  const bind = (value: unknown): string => `V[${values.push(value) - 1}]`
  for (const { steps, type, judgement, binding } of column.branches) {
    const node = descend(root, steps)
    if (column.kind === 'composite') {
      const run = bind(compileComposite(column, converters))
      const last = column.components?.at(-1)
      node.emits.push((variable) => `if (${mayHave(last, variable)}) ${run}(r, ${variable}, o);`)
    } else if (column.kind === 'alias') {
      const refers = JSON.stringify(column.refers)
      node.emits.push((variable) => `if (C.refers(${variable}, ${refers}, r)) o.present.push(${column.code});`)
    } else {
      const isMime = column.kind === 'token' && type === 'code' && binding !== undefined && isMimeTypes(binding)
      const convert = bind(converters.of(column.kind, isMime ? MIME_TYPE : type))
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
    const run = bind((resource: Json, rows: IndexEntries) => {
      for (const { type, value } of nodes(resource)) converters.of(kind as IndexKind, type)?.(rows, code, value)
    })
    root.emits.push(() => `${run}(r, o);`)
  }
}

const compileTree = (
  columns: readonly ExtractorColumn[],
  converters: Converters,
): ((r: Json, start: unknown, o: IndexEntries) => void) => {
  const values: unknown[] = []
  const root = newNode()
  for (const column of columns) addColumn(root, column, converters, values)
  const body = root.emits.map((emit) => emit('s')).join('') + generate(root, 's', 0)
  // Safe to compile: the source contains only member names and constants from definitions, quoted as JSON.
  return new Function('C', 'V', `"use strict"; return (r, s, o) => {${body}}`)(converters, values)
}

/**
 * Adds the rows of every combination of one element's components. The last one is most often missing, so it is first.
 */
const compileComposite = (
  { code, components = [] }: ExtractorColumn,
  converters: Converters,
): ((r: Json, element: unknown, o: IndexEntries) => void) => {
  const parts = components.map(({ kind, branches }) => {
    const rooted = branches.filter(({ root }) => root === true)
    const own = branches.filter(({ root }) => root !== true)
    const compile = (list: readonly ElementPath[]) =>
      list.length === 0 ? undefined : compileTree([{ code: 0, kind, branches: list }], converters)
    // Reused for every resource: extractions are never nested.
    return { kind, fromElement: compile(own), fromRoot: compile(rooted), scratch: new IndexEntries() }
  })
  const kinds = parts.map(({ kind }) => kind)
  const found = parts.map(({ scratch }) => scratch)
  return (resource, element, rows) => {
    let at = parts.length - 1
    for (; at >= 0; at -= 1) {
      const { kind, fromElement, fromRoot, scratch } = parts[at] as (typeof parts)[number]
      if (fromElement !== undefined) fromElement(resource, element, scratch)
      if (fromRoot !== undefined) fromRoot(resource, resource, scratch)
      if (listOf(scratch, kind).length === 0) break
    }
    if (at < 0) combine(rows, code, kinds, found)
    // Empties the components that were evaluated. Mostly only one was, and it is empty.
    for (let used = parts.length - 1; used > at; used -= 1) (found[used] as IndexEntries).clear()
    if (at >= 0) (found[at] as IndexEntries).clear()
  }
}

const listOf = (rows: IndexEntries, kind: IndexKind): readonly unknown[] => {
  switch (kind) {
    case 'token':
      return rows.token
    case 'reference':
      return rows.reference
    case 'date':
      return rows.date
    case 'quantity':
      return rows.quantity
    default:
      return rows.string
  }
}

const WIDTHS: Readonly<Record<IndexKind, number>> = {
  token: TOKEN_COLUMNS,
  reference: REFERENCE_COLUMNS,
  date: DATE_COLUMNS,
  quantity: QUANTITY_COLUMNS,
  string: STRING_COLUMNS,
  uri: STRING_COLUMNS,
  position: COMPOSITE_COLUMNS,
}

/**
 * Adds a row for every combination of the components. The first code is in `value`, a later one in `value2`; numbers
 * and dates are in `low` and `high`, a second one in `low2` and `high2`. A text is in `key`; `low` then holds the
 * hash of the exact text.
 */
const combine = (
  rows: IndexEntries,
  code: number,
  kinds: readonly IndexKind[],
  found: readonly IndexEntries[],
): void => {
  const row: (number | string | null)[] = [code, 0, 0, 0, 0, 0, 0, 0, 0, '', '', '', '', '', null]
  const step = (at: number): void => {
    if (at === kinds.length) {
      for (let n = 0; n < COMPOSITE_COLUMNS; n += 1) rows.composite.push(row[n] as number)
      return
    }
    const kind = kinds[at] as IndexKind
    const list = listOf(found[at] as IndexEntries, kind)
    const width = WIDTHS[kind]
    const coded = at === 0 ? 1 : 5
    const ranged = at < 2 ? COMPOSITE.first : COMPOSITE.second
    for (let n = 0; n < list.length; n += width) {
      if (kind === 'token' || kind === 'reference') {
        // Rows for displays are not part of a composite.
        if (list[n] !== 0) continue
        row[coded] = list[n + 1] as number
        row[coded + 1] = kind === 'token' ? (list[n + 2] as number) : 0
        // A reference has no system, so that part of the key takes 32 bits of the code: one seek finds both together.
        if (at === 1 && kind === 'token' && kinds[0] === 'reference') row[2] = patientCodeKey(row[coded] as number)
      } else if (kind === 'date' || kind === 'quantity') {
        row[ranged.low] = list[n + 1] as number
        row[ranged.high] = list[n + 2] as number
        if (kind === 'quantity') {
          row[ranged.lowRest] = list[n + QUANTITY.lowRest] as string
          row[ranged.highRest] = list[n + QUANTITY.highRest] as string
          if (at === 1) {
            const [code, system, unit] = [list[n + 3] as number, list[n + 4] as number, list[n + 5] as number]
            // A unit's text that differs from its code gets a row of its own, without a system, because `5||mg`
            // matches the code or the text.
            if (unit !== 0 && (code === 0 || unit !== shortened(code))) {
              row[5] = unit
              row[6] = 0
              step(at + 1)
              if (code === 0 && system === 0) continue
            }
            row[5] = code
            row[6] = system
          }
        }
      } else {
        row[COMPOSITE.key] = list[n + 1] as string
        row[COMPOSITE.tail] = list[n + 3] as string | null
        row[ranged.low] = list[n + 2] as number
      }
      step(at + 1)
    }
  }
  step(0)
}

/** Generates the extractor of one resource type. */
export const compileExtractor = (columns: readonly ExtractorColumn[], converters: Converters): Extract => {
  const run = compileTree(columns, converters)
  return (resource, rows) => run(resource, resource, rows)
}

export type { Convert }
