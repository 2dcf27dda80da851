/**
 * Generated extractors against fhirpath.js: every search parameter of R4 core, on every R4 example.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { loadPathInterpreter } from '../../../../plugins/model/fhirpath/extraction/interpreted.ts'
import { compileSearchDefinitions } from '../../../../plugins/search/definition/compile-definitions.ts'
import { isIndexable } from '../../../../plugins/search/definition/indexed-types.ts'
import type { IndexKind } from '../../../../plugins/search/definition/kind.ts'
import type {
  SearchDefinitions,
  SearchParameterResource,
} from '../../../../plugins/search/definition/stored-definitions.ts'
import type { Convert } from '../../../../plugins/search/index/convert/convert.ts'
import { createConverters } from '../../../../plugins/search/index/convert/converters.ts'
import { compileExtractor } from '../../../../plugins/search/index/extractor.ts'
import { createHasher } from '../../../../plugins/search/index/hash.ts'
import { IndexEntries } from '../../../../plugins/search/index/index-entries.ts'
import { isRepeating } from '../../../support/repeating-bundles.ts'
import { examplesFolder } from '../../../support/stub-definitions.ts'

const names = readdirSync(examplesFolder).filter((name) => name.endsWith('.json') && name !== 'package.json')
const load = (name: string) => JSON.parse(readFileSync(join(examplesFolder, name), 'utf8'))
const loadAll = (type: string) => names.filter((name) => name.startsWith(`${type}-`)).map(load)

const structures = loadAll('StructureDefinition')
const parameters: SearchParameterResource[] = loadAll('SearchParameter')
const types = structures
  .filter((one) => one.kind === 'resource' && !one.abstract && one.derivation !== 'constraint')
  .map((one) => one.type as string)
const model: SearchDefinitions = compileSearchDefinitions({ structures, parameters, compartments: [], types })

interface Seen {
  readonly column: number
  readonly value: unknown
}

/** Converters that note what they are given instead of making rows. */
const collector = (seen: Seen[]) => ({
  of: (kind: IndexKind, type: string): Convert | undefined =>
    isIndexable(kind, type) ? (_rows, column, value) => void seen.push({ column, value }) : undefined,
  refers: createConverters(createHasher(0)).refers,
  hasExtension: (value: unknown, url: string): boolean =>
    ((value as { extension?: { url: string }[] }).extension ?? []).some((one) => one.url === url),
})

/** A reference to a contained resource is resolved by us alone, and never indexed. */
const isContained = (value: unknown): boolean =>
  (value as { reference?: string } | null)?.reference?.startsWith('#') ?? false
const keyOf = (value: unknown): string => JSON.stringify(value)

const KIND: Record<string, IndexKind> = {
  number: 'quantity',
  quantity: 'quantity',
  date: 'date',
  string: 'string',
  token: 'token',
  reference: 'reference',
  uri: 'uri',
}

test('every search parameter of R4 core is understood', () => {
  const understood = new Set(model.parameters.map(({ base, url }) => `${base} ${url}`))
  const known = new Set(types)
  const missing = parameters
    .filter(({ url, expression }) => url.startsWith('http://hl7.org/fhir/SearchParameter/') && expression !== undefined)
    .flatMap(({ url, code, base = [] }) =>
      base.filter((one) => known.has(one)).map((one) => ({ key: `${one} ${url}`, code })),
    )
    .filter(({ key, code }) => !understood.has(key) && !code.startsWith('_'))
    .map(({ key }) => key)
  // The examples are displaced by a real parameter or name an element of another type.
  assert.equal(missing.sort(), [
    'Condition http://hl7.org/fhir/SearchParameter/example-reference',
    'Patient http://hl7.org/fhir/SearchParameter/example-extension',
  ])
  assert.equal(
    model.columns.filter(({ exotic }) => exotic).map(({ expression }) => expression),
    [],
  )
})

/** The extractor of a type, and what it was given by the resource that it read last. */
const makeExtractor = (type: string) => {
  const seen: Seen[] = []
  const used = model.columns
    .map((column, code) => ({ ...column, code }))
    .filter((column) => column.type === type && column.kind !== 'composite')
    // An alias tells of its references through the same converters as any other column.
    .map(({ of, kind, ...column }) => ({
      ...column,
      kind: kind === 'alias' ? ('reference' as const) : kind,
      branches:
        of === undefined
          ? column.branches
          : column.branches.map((branch) => ({
              ...branch,
              steps: [...branch.steps, { step: 'where', where: { test: 'refers', type: of.refers } } as const],
            })),
    }))
  return { extract: compileExtractor(used, collector(seen) as never), seen }
}
const extractors = new Map<string, ReturnType<typeof makeExtractor>>()
const extractorOf = (type: string): ReturnType<typeof makeExtractor> => {
  const known = extractors.get(type) ?? makeExtractor(type)
  extractors.set(type, known)
  return known
}

test('what is indexed is what fhirpath.js selects, on the R4 examples', async () => {
  const compile = await loadPathInterpreter()
  const byType = new Map<
    string,
    {
      code: string
      columns: ReadonlySet<number>
      kind: IndexKind
      nodes: ReturnType<typeof compile>
      refers?: string
    }[]
  >()
  const bySource = new Map(parameters.map((one) => [one.url, one]))
  for (const { base, url, type, columns, code } of model.parameters) {
    const expression = bySource.get(url)?.expression
    const kind = KIND[type]
    if (expression === undefined || kind === undefined) continue
    const ours = expression.split(' | ').filter((part) => {
      const root = /^\(*([A-Z][A-Za-z]+)/.exec(part)?.[1]
      return root === undefined || root === base || root === 'Resource' || root === 'DomainResource'
    })
    const parts = ours.map((part) => compile(part))
    const list = byType.get(base) ?? []
    const refers = columns[0]?.refers
    list.push({
      code,
      kind,
      columns: new Set(columns.map(({ column, present }) => present ?? column)),
      // Part by part: a union drops what it takes for equal, 1e-22 and 1e-245 too.
      nodes: (resource) => parts.flatMap((part) => part(resource)),
      ...(refers === undefined ? {} : { refers }),
    })
    byType.set(base, list)
  }
  let resources = 0
  let values = 0
  for (const name of names.filter((one) => !isRepeating(one))) {
    const type = name.slice(0, name.indexOf('-'))
    const checks = byType.get(type)
    if (checks === undefined) continue
    const resource = load(name)
    if (resource.resourceType !== type) continue
    resources += 1
    const { extract, seen } = extractorOf(type)
    seen.length = 0
    extract(resource, new IndexEntries())
    for (const { code, columns, kind, nodes } of checks) {
      const ours = new Set(
        seen.filter(({ column, value }) => columns.has(column) && !isContained(value)).map(({ value }) => keyOf(value)),
      )
      const theirs = new Set(
        nodes(resource)
          .filter(
            (node) =>
              isIndexable(kind, node.type) ||
              node.type === 'Extension' ||
              (kind === 'reference' && typeof (node.value as { resourceType?: string })?.resourceType === 'string'),
          )
          .filter(({ value }) => !isContained(value))
          .map(({ value }) => keyOf(value)),
      )
      values += theirs.size
      assert.equal([...ours].sort(), [...theirs].sort(), `${name} ${type}.${code}`)
    }
  }
  assert.ok(resources > 2_500, `${resources} resources`)
  assert.ok(values > 10_000, `${values} values`)
})

test.run()
