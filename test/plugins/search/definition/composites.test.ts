/**
 * Composites against fhirpath.js, on every R4 example: the rows of each element are those of its own components, every
 * combination of them and no other.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fhirpath from 'fhirpath'
import fhirModel from 'fhirpath/fhir-context/r4/index.js'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { compileSearchDefinitions } from '../../../../plugins/search/definition/compile-definitions.ts'
import type { IndexKind } from '../../../../plugins/search/definition/kind.ts'
import type { SearchParameterResource } from '../../../../plugins/search/definition/stored-definitions.ts'
import { createConverters } from '../../../../plugins/search/index/convert/converters.ts'
import { compileExtractor } from '../../../../plugins/search/index/extractor.ts'
import { createHasher } from '../../../../plugins/search/index/hash.ts'
import { IndexEntries } from '../../../../plugins/search/index/index-entries.ts'
import { examplesFolder } from '../../../support/stub-definitions.ts'

type Json = Record<string, any>
type Row = (number | string | null)[]

const names = readdirSync(examplesFolder).filter((name) => name.endsWith('.json') && name !== 'package.json')
const load = (name: string): Json => JSON.parse(readFileSync(join(examplesFolder, name), 'utf8'))
/** Examples of one type: its composites read each of them. */
const loadOf = (base: string): readonly { readonly name: string; readonly resource: Json }[] =>
  names
    .filter((name) => name.startsWith(`${base}-`))
    .map((name) => ({ name, resource: load(name) }))
    .filter(({ resource }) => resource.resourceType === base)
const loadAll = (type: string): any[] => names.filter((name) => name.startsWith(`${type}-`)).map(load)

const structures = loadAll('StructureDefinition')
const parameters: SearchParameterResource[] = loadAll('SearchParameter')
const types: string[] = structures
  .filter((one) => one.kind === 'resource' && !one.abstract && one.derivation !== 'constraint')
  .map((one) => one.type)
const model = compileSearchDefinitions({ structures, parameters, compartments: [], types })
const converters = createConverters(createHasher(7))

/** On a collection R4 means by `as` what FHIRPath calls ofType. */
const fixed = (expression: string): string =>
  expression
    .replace(/\bas\(/g, 'ofType(')
    .replace(/\(([A-Za-z.]+) as ([A-Za-z]+)\)/g, '$1.ofType($2)')
    .replace(/([A-Za-z.]+) as ([A-Za-z]+)/g, '$1.ofType($2)')
const options = { resolveInternalTypes: false, async: false } as never
type Evaluate = (data: unknown, environment: { readonly resource: Json }) => any[]
const compiled = new Map<string, Evaluate>()
const compile = (base: string | undefined, expression: string): Evaluate => {
  const key = `${base} ${expression}`
  const path = base === undefined ? fixed(expression) : { base, expression: fixed(expression) }
  const known =
    compiled.get(key) ?? (fhirpath.compile(path as never, fhirModel as never, options) as unknown as Evaluate)
  compiled.set(key, known)
  return known
}
const evaluate = (data: unknown, base: string | undefined, expression: string, resource: Json): any[] =>
  compile(base, expression)(data, { resource })
const PLAIN: Record<string, string> = { boolean: 'boolean', string: 'string', number: 'decimal' }
const typed = (node: any): { type: string; value: unknown } =>
  typeof node?.fhirNodeDataType === 'string'
    ? // The engine's numbers are objects of its own.
      {
        type: node.fhirNodeDataType,
        value: typeof node.data === 'object' ? JSON.parse(JSON.stringify(node.data)) : node.data,
      }
    : { type: PLAIN[typeof node] ?? 'string', value: node }
const plain = (node: any): unknown => (node?.data === undefined ? node : node.data)

/** A unit by its code and system, and by its text where that is another. */
const unitsOf = (value: unknown, [code, system, unit]: readonly number[]): [number, number][][] => {
  const { low, high, ...own } = value as Record<string, any>
  const { code: codeText, unit: unitText } = low ?? high ?? own
  const units: [number, number][][] = []
  if (unitText !== undefined && unitText !== codeText)
    units.push([
      [5, unit as number],
      [6, 0],
    ])
  if (units.length === 0 || code !== 0 || system !== 0)
    units.push([
      [5, code as number],
      [6, system as number],
    ])
  return units
}

/** What one value is in a row, by the kind of its component: [places of the row, contents]. */
const cells = (kind: IndexKind, at: number, type: string, value: unknown): [number, number | string | null][][] => {
  const rows = new IndexEntries()
  converters.of(kind, type)?.(rows, 0, value)
  const [code, system, low, high] = at === 0 ? [1, 2, 3, 4] : [5, 6, at < 2 ? 3 : 7, at < 2 ? 4 : 8]
  const [lowRest, highRest] = at < 2 ? [10, 11] : [12, 13]
  const found: [number, number | string | null][][] = []
  const { token, reference, date, quantity, string } = rows
  for (let n = 0; n < token.length; n += 3)
    if (token[n] === 0)
      found.push([
        [code as number, token[n + 1] as number],
        [system as number, token[n + 2] as number],
      ])
  if (kind === 'reference')
    for (let n = 0; n < reference.length; n += 2)
      if (reference[n] === 0) found.push([[code as number, reference[n + 1] as number]])
  for (let n = 0; n < date.length; n += 3)
    found.push([
      [low as number, date[n + 1] as number],
      [high as number, date[n + 2] as number],
    ])
  for (let n = 0; n < quantity.length; n += 8) {
    const numbers: [number, number | string | null][] = [
      [low as number, quantity[n + 1] as number],
      [high as number, quantity[n + 2] as number],
      [lowRest as number, quantity[n + 6] as string],
      [highRest as number, quantity[n + 7] as string],
    ]
    for (const unit of at === 1 ? unitsOf(value, quantity.slice(n + 3, n + 6) as number[]) : [[]])
      found.push([...numbers, ...unit])
  }
  for (let n = 0; n < string.length; n += 4)
    found.push([
      [9, string[n + 1] as string],
      [low as number, string[n + 2] as number],
      [14, string[n + 3] as string],
    ])
  return kind === 'reference' ? found.filter((one) => one.length === 1) : found
}

const product = (lists: readonly [number, number | string | null][][][]): Row[] =>
  lists.reduce<Row[]>(
    (rows, list) =>
      rows.flatMap((row) =>
        list.map((cell) => {
          const next = [...row]
          for (const [place, content] of cell) next[place] = content
          return next
        }),
      ),
    [[0, 0, 0, 0, 0, 0, 0, 0, 0, '', '', '', '', '', null]],
  )

test('the rows of composites are those that fhirpath.js selects, on every R4 example', () => {
  const byUrl = new Map(parameters.map((one) => [one.url, one]))
  let tuples = 0
  const withRows = new Set<string>()
  let checked = 0
  let loaded: { readonly base: string; readonly examples: ReturnType<typeof loadOf> } = { base: '', examples: [] }
  for (const { base, url, type, columns, components: kinds, code } of model.parameters) {
    if (type !== 'composite') continue
    checked += 1
    const source = byUrl.get(url) as SearchParameterResource
    const parts = (source.expression as string).split(' | ').filter((part) => new RegExp(`^\\(*${base}\\b`).test(part))
    assert.is(parts.length, columns.length, `${base}.${code}`)
    const used = columns.map(({ column }) => model.columns[column] as (typeof model.columns)[number])
    const extract = compileExtractor(
      used.map((column) => ({
        code: 0,
        kind: column.kind,
        branches: column.branches,
        components: column.components ?? [],
      })),
      converters,
    )
    if (base !== loaded.base) loaded = { base, examples: loadOf(base) }
    for (const { name, resource } of loaded.examples) {
      const rows = new IndexEntries()
      extract(resource, rows)
      const ours: Row[] = []
      for (let at = 0; at < rows.composite.length; at += 15) ours.push(rows.composite.slice(at, at + 15))
      const theirs: Row[] = []
      for (const [at, part] of parts.entries()) {
        const context = used[at]?.branches[0]?.type as string
        for (const node of evaluate(resource, undefined, part, resource)) {
          const element = plain(node)
          const lists = (source.component ?? []).map(({ expression }, place) =>
            evaluate(element, context === base ? undefined : context, expression, resource)
              .map(typed)
              .flatMap((one) => cells(kinds[place] as IndexKind, place, one.type, one.value)),
          )
          theirs.push(...product(lists))
        }
      }
      const spell = (list: Row[]): string[] => [...new Set(list.map((row) => JSON.stringify(row)))].sort()
      assert.equal(spell(ours), spell(theirs), `${name} ${base}.${code}`)
      tuples += theirs.length
      if (theirs.length > 0) withRows.add(`${base}.${code}`)
    }
  }
  assert.ok(checked > 20, `${checked} composites`)
  assert.ok(tuples > 400 && withRows.size > 25, `${tuples} tuples of ${[...withRows].join(', ')}`)
})

test.run()
