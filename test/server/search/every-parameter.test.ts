/** Every search parameter of R4 core that an R4 example has a value for finds that example by it, composites too. */
// database: sqlite and postgres, because in memory the same statements run as on a file
import { readdirSync } from 'node:fs'
import { pino } from 'pino'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import database from '../../../plugins/database/index.ts'
import { type MatchSubject, Resources } from '../../../plugins/fhir/service.ts'
import type { ElementPath } from '../../../plugins/model/fhirpath/extraction/paths.ts'
import { Model } from '../../../plugins/model/service.ts'
import { Definitions } from '../../../plugins/packages/service.ts'
import { isIndexable } from '../../../plugins/search/definition/indexed-types.ts'
import type { IndexKind } from '../../../plugins/search/definition/kind.ts'
import { loadModel } from '../../../plugins/search/definition/load-model.ts'
import type {
  SearchDefinitions,
  StoredColumn,
  StoredParameter,
} from '../../../plugins/search/definition/stored-definitions.ts'
import type { Convert } from '../../../plugins/search/index/convert/convert.ts'
import { createConverters } from '../../../plugins/search/index/convert/converters.ts'
import { compileExtractor } from '../../../plugins/search/index/extractor.ts'
import { createHasher } from '../../../plugins/search/index/hash.ts'
import { IndexEntries } from '../../../plugins/search/index/index-entries.ts'
import { askAgain } from '../../support/ask-again.ts'
import { isChosen, readChosen } from '../../support/chosen-examples.ts'
import { chosenKind } from '../../support/database-kinds.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { examplesFolder, stubDefinitions } from '../../support/stub-definitions.ts'
import { toValue } from './value-to-find.ts'

const names = readdirSync(examplesFolder).filter((name) => name.endsWith('.json') && name !== 'package.json')
type Resource = Record<string, any>

/** The server has compiled this model of all definitions: doing it again takes a second and a half. */
let model: SearchDefinitions

const BATCH = 25 // resources
const { refers, hasExtension } = createConverters(createHasher(0))
/** Of these, examples are read that have an element in a new shape: 170 of 187 MB are of these types. */
const MANY = new Set(['Bundle', 'CodeSystem', 'SearchParameter', 'StructureDefinition', 'ValueSet'])
const LARGE = 30_000 // characters
const ITEMS = 20
const LETTERS = 1_000
/** Takes away what a large example has more of than a parameter needs: each answer with it would take long. */
const shorten = (_key: string, value: unknown): unknown => {
  if (Array.isArray(value)) return value.slice(0, ITEMS)
  return typeof value === 'string' ? value.slice(0, LETTERS) : value
}
const examples = new Map<string, Resource[]>()
const examplesOf = (type: string): readonly Resource[] => {
  const known = examples.get(type)
  if (known !== undefined) return known
  const made = names
    .filter((name) => name.startsWith(`${type}-`) && (!MANY.has(type) || isChosen(name)))
    .map(readChosen)
    .sort((one, other) => one.length - other.length) // small answers
    .map((text): Resource => {
      const { text: _narrative, ...searched } = JSON.parse(text, text.length > LARGE ? shorten : undefined)
      return searched // no parameter but `_text` and `_content` looks at the narrative
    })
    .filter((one) => one.resourceType === type && typeof one.id === 'string' && one.id.length <= 64)
  examples.set(type, made)
  return made
}

interface Seen {
  readonly kind: IndexKind
  readonly value: unknown
}
/** What branches select in a resource, or in an element of it. */
const select = (kind: IndexKind, branches: readonly ElementPath[], from: Resource, any = false): readonly Seen[] => {
  const seen: Seen[] = []
  const of = (one: IndexKind, type: string): Convert | undefined =>
    any || isIndexable(one, type) ? (_rows, _column, value) => void seen.push({ kind: one, value }) : undefined
  compileExtractor([{ code: 0, kind, branches }], { of, refers, hasExtension } as never)(from, new IndexEntries())
  return seen
}
const firstValue = (seen: readonly Seen[]): string | undefined =>
  seen.map(({ kind, value }) => toValue(kind, value)).find((one) => one !== undefined)

/** A value of the resource that the parameter should find it by. */
const searchValueOf = ({ columns }: StoredParameter, resource: Resource): string | undefined => {
  for (const { column, refers: only } of columns) {
    const { kind, branches, components } = model.columns[column] as StoredColumn
    if (components === undefined) {
      const step = { step: 'where', where: { test: 'refers', type: only } } as const
      const narrowed = only === undefined ? branches : branches.map((one) => ({ ...one, steps: [...one.steps, step] }))
      const found = firstValue(select(kind as IndexKind, narrowed as readonly ElementPath[], resource))
      if (found !== undefined) return found
      continue
    }
    for (const { value: element } of select('token', branches, resource, true)) {
      const parts = components.map((one) =>
        firstValue([
          ...select(
            one.kind,
            one.branches.filter(({ root }) => root !== true),
            element as Resource,
          ),
          ...select(
            one.kind,
            one.branches.filter(({ root }) => root === true),
            resource,
          ),
        ]),
      )
      if (parts.every((part) => part !== undefined)) return parts.join('$')
    }
  }
  return undefined
}

interface Question {
  /** Of the example that has the value. */
  readonly id: string
  readonly base: string
  readonly code: string
  readonly type: string
  readonly value: string
}

let server: TestServer
const headers = { 'content-type': 'application/fhir+json' }
const store = async (method: 'PUT' | 'POST', url: string, body: Resource): Promise<any> => {
  const payload = JSON.stringify(body)
  const answer = await askAgain(
    () => server.inject({ method, url, headers, payload }),
    ({ statusCode }) => statusCode,
  )
  assert.ok(answer.statusCode < 300, `${url}: ${answer.body.slice(0, 200)}`)
  return answer.json()
}
const pathOf = ({ resourceType, id }: Resource): string => `${resourceType}/${id}`
/** In batches, which take a part of the time of as many requests, but do not take Bundles. */
const storeAll = async (all: readonly Resource[]): Promise<void> => {
  const entries = all
    .filter(({ resourceType }) => resourceType !== 'Bundle')
    .map((resource) => ({ resource, request: { method: 'PUT', url: pathOf(resource) } }))
  for (let from = 0; from < entries.length; from += BATCH) {
    const entry = entries.slice(from, from + BATCH)
    const answered = await store('POST', '/', { resourceType: 'Bundle', type: 'batch', entry })
    for (const [at, { response }] of answered.entry.entries())
      assert.is(response.status.slice(0, 3), '201', `${entry[at]?.request.url}: ${JSON.stringify(response)}`)
  }
  for (const one of all) if (one.resourceType === 'Bundle') await store('PUT', `/${pathOf(one)}`, one)
}

const asked: Question[] = []
const without: string[] = []
test.before(async () => {
  server = await serverWith({
    plugins: [database, stubDefinitions('all'), ...fhirPlugins],
    settings: { conformance: { update_as_create: true }, fhir: { full_text: 'none' } },
  })
  model = (await loadModel(server.get(Model).catalog, server.get(Definitions), pino({ level: 'silent' }))).model
  const stored = new Set<Resource>()
  for (const parameter of model.parameters) {
    const { base, code, type } = parameter
    if (type === 'special') continue
    let value: string | undefined
    const found = examplesOf(base).find((resource) => {
      value = searchValueOf(parameter, resource)
      return value !== undefined
    })
    if (found === undefined || value === undefined) {
      without.push(`${base}.${code}`)
      continue
    }
    stored.add(found)
    asked.push({ id: found.id, base, code, type, value })
  }
  // Something beside them that need not be found.
  for (const type of examples.keys()) for (const one of examplesOf(type).slice(0, 5)) stored.add(one)
  await storeAll([...stored])
})
test.after(() => server.stop())

const idsFor = async (base: string, query: string): Promise<readonly string[] | string> => {
  const answer = await server.inject(`/${base}?${query}&_count=1000`)
  if (answer.statusCode !== 200) return `${answer.statusCode} ${answer.body.slice(0, 160)}`
  return (answer.json().entry ?? []).map((entry: any) => entry.resource.id)
}

test('each search parameter that any example has a value for finds that example by it', async () => {
  const failures: string[] = []
  for (const { id, base, code, value } of asked) {
    const query = `${code}=${encodeURIComponent(value)}`
    const ids = await idsFor(base, query)
    if (!Array.isArray(ids) || !ids.includes(id)) failures.push(`${base}?${query} → ${ids}`)
  }
  assert.equal(failures, [])
  // What no example has a value for cannot be tried.
  const composite = asked.filter(({ type }) => type === 'composite').length
  const simple = asked.length - composite
  assert.ok(simple >= 1_289 && composite >= 28, `${simple} and ${composite}, ${without.length} without`)
})

/** Modifiers that are tested in memory in ways of their own. */
const MODIFIERS: Readonly<Record<string, readonly string[]>> = {
  token: [':not'],
  string: [':exact', ':contains'],
  uri: [':below'],
}

/** A matcher asks no database: every second search is held against what it tells, on PostgreSQL every fifth of the others. */
const [EVERY, FIRST] =
  process.env.ALL_EXAMPLES !== undefined ? [1, 0] : chosenKind.name === 'postgres' ? [10, 1] : [2, 0]

test('a matcher tells of each resource what the search does, and its keys lead to each that it meets', async () => {
  const session = server.get(Resources).as({ kind: 'internal', purpose: 'test' })
  const subjects = new Map<string, MatchSubject[]>()
  const compared = asked.filter((_one, at) => at % EVERY === FIRST)
  for (const base of new Set(compared.map((one) => one.base))) {
    const found: MatchSubject[] = []
    for await (const held of session.stream(base, '')) found.push(session.subject(held, held.parse()))
    subjects.set(base, found)
  }
  const failures: string[] = []
  const tried = { compared: 0, met: 0, filed: 0, none: 0 }
  for (const { base, code, type, value } of compared) {
    const encoded = encodeURIComponent(value)
    const queries = [
      `${code}=${encoded}`,
      ...(MODIFIERS[type] ?? []).map((modifier) => `${code}${modifier}=${encoded}`),
      `${code}:missing=true`,
    ]
    for (const query of queries) {
      const ids = await idsFor(base, query)
      // What the search refuses, :missing of a parameter without a bit say, is no query.
      if (!Array.isArray(ids)) continue
      const matcher = await session.matches(base, query)
      if (matcher === null) {
        tried.none += 1
        continue
      }
      const met = (subjects.get(base) ?? []).filter((one) => matcher.test(one))
      const own = met.map((one) => one.id)
      tried.compared += 1
      tried.met += met.length
      if (own.toSorted().join() !== ids.toSorted().join()) failures.push(`${base}?${query}: ${own} instead of ${ids}`)
      const { keys } = matcher
      if (keys === undefined) continue
      tried.filed += 1
      for (const one of met)
        if (!one.keys.some((key) => keys.includes(key))) failures.push(`${base}?${query}: no key leads to ${one.id}`)
    }
  }
  assert.equal(failures.slice(0, 20), [])
  assert.ok(
    tried.compared > 2_500 / EVERY && tried.met > 5_000 / EVERY && tried.filed > 800 / EVERY,
    JSON.stringify(tried),
  )
})

test.run()
