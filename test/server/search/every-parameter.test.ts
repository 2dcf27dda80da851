/** Every search parameter of R4 core that an R4 example has a value for finds that example by it, composites too. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import database from '../../../plugins/database/index.ts'
import type { Branch } from '../../../plugins/model/fhirpath/extraction/paths.ts'
import { compileModel } from '../../../plugins/search/definition/compile-definitions.ts'
import type { Convert, Kind } from '../../../plugins/search/definition/kind.ts'
import type {
  StoredColumn,
  StoredModel,
  StoredParameter,
} from '../../../plugins/search/definition/stored-definitions.ts'
import { convertible, createConverters } from '../../../plugins/search/index/convert/converters.ts'
import { compileExtractor } from '../../../plugins/search/index/extractor.ts'
import { createHasher } from '../../../plugins/search/index/hash.ts'
import { Rows } from '../../../plugins/search/index/index-entries.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { serverWith } from '../../support/server-with.ts'
import { examplesFolder, stubDefinitions } from '../../support/stub-definitions.ts'

const names = readdirSync(examplesFolder).filter((name) => name.endsWith('.json') && name !== 'package.json')
const load = (name: string) => JSON.parse(readFileSync(join(examplesFolder, name), 'utf8'))
const loadAll = (type: string) => names.filter((name) => name.startsWith(`${type}-`)).map(load)
type Resource = Record<string, any>

const structures = loadAll('StructureDefinition')
const types: string[] = structures
  .filter((one) => one.kind === 'resource' && !one.abstract && one.derivation !== 'constraint')
  .map((one) => one.type)
const model: StoredModel = compileModel({
  structures,
  parameters: loadAll('SearchParameter'),
  compartments: [],
  types,
})

const escaped = (text: unknown): string => String(text).replace(/[\\,$|]/g, '\\$&')
const token = (system: unknown, code: unknown): string | undefined =>
  typeof code === 'string' || typeof code === 'boolean' || typeof code === 'number'
    ? typeof system === 'string'
      ? `${escaped(system)}|${escaped(code)}`
      : escaped(code)
    : undefined

/** A search value that a value of a resource should be found by. */
const toValue = (kind: Kind, given: any): string | undefined => {
  const extension = Object.keys(given ?? {}).find((member) => /^value[A-Z]/.test(member))
  const value = given?.url !== undefined && extension !== undefined ? given[extension] : given
  const isObject = typeof value === 'object'
  switch (kind) {
    case 'token':
      if (!isObject) return token(undefined, value)
      if (value.coding !== undefined) return token(value.coding[0].system, value.coding[0].code)
      return token(
        /^(phone|fax|email|pager|url|sms|other)$/.test(value.system) ? undefined : value.system,
        value.code ?? value.value,
      )
    case 'reference': {
      const reference = isObject ? (value.reference ?? (value.id && `${value.resourceType}/${value.id}`)) : value
      return typeof reference === 'string' && !reference.startsWith('#') ? escaped(reference) : undefined
    }
    case 'date':
      if (!isObject) return value
      if (value.start !== undefined) return `ge${value.start}`
      if (value.end !== undefined) return `le${value.end}`
      return value.event?.[0] ?? (value.repeat?.boundsPeriod?.start && `ge${value.repeat.boundsPeriod.start}`)
    case 'string': {
      const text = isObject
        ? (value.family ??
          value.given?.[0] ??
          value.text ??
          value.city ??
          value.line?.[0] ??
          value.coding?.[0]?.display)
        : value
      return typeof text === 'string' && text.trim() !== '' ? escaped(text) : undefined
    }
    case 'quantity': {
      if (!isObject) return String(value)
      if (value.low !== undefined) return `ge${value.low.value}`
      if (value.data !== undefined || value.value === undefined) return undefined
      const number =
        value.comparator === undefined ? value.value : `${value.comparator.startsWith('<') ? 'lt' : 'gt'}${value.value}`
      return value.system === undefined
        ? String(number)
        : `${number}|${escaped(value.system)}|${escaped(value.code ?? '')}`
    }
    case 'uri':
      return escaped(value)
  }
}

const { refers, hasExtension } = createConverters(createHasher(0))
const examples = new Map<string, Resource[]>()
const examplesOf = (type: string): readonly Resource[] => {
  const known = examples.get(type)
  if (known !== undefined) return known
  const made = (loadAll(type) as Resource[]).filter(
    (one) => one.resourceType === type && typeof one.id === 'string' && one.id.length <= 64,
  )
  examples.set(type, made)
  return made
}

interface Seen {
  readonly kind: Kind
  readonly value: unknown
}
/** What branches select in a resource, or in an element of it. */
const select = (kind: Kind, branches: readonly Branch[], from: Resource, any = false): readonly Seen[] => {
  const seen: Seen[] = []
  const of = (one: Kind, type: string): Convert | undefined =>
    any || convertible(one, type) ? (_rows, _column, value) => void seen.push({ kind: one, value }) : undefined
  compileExtractor([{ code: 0, kind, branches }], { of, refers, hasExtension } as never)(from, new Rows())
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
      const found = firstValue(select(kind as Kind, narrowed as readonly Branch[], resource))
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

test('each search parameter that any example has a value for finds that example by it', async () => {
  const server = await serverWith({
    plugins: [database, stubDefinitions('all'), ...fhirPlugins],
    settings: { conformance: { update_as_create: true } },
  })
  try {
    const stored = new Set<Resource>()
    const store = async (resource: Resource): Promise<void> => {
      if (stored.has(resource)) return
      stored.add(resource)
      const { resourceType, id } = resource
      const answer = await server.inject({
        method: 'PUT',
        url: `/${resourceType}/${id}`,
        headers: { 'content-type': 'application/fhir+json' },
        payload: JSON.stringify(resource),
      })
      assert.ok(answer.statusCode < 300, `${resourceType}/${id}: ${answer.body.slice(0, 200)}`)
    }
    const tried = { simple: 0, composite: 0 }
    const without: string[] = []
    const asked: { readonly id: string; readonly url: string }[] = []
    for (const parameter of model.parameters) {
      const { base, code, type } = parameter
      if (type === 'special') continue
      const found = examplesOf(base)
        .map((resource) => ({ resource, value: searchValueOf(parameter, resource) }))
        .find(({ value }) => value !== undefined)
      if (found?.value === undefined) {
        without.push(`${base}.${code}`)
        continue
      }
      await store(found.resource)
      tried[type === 'composite' ? 'composite' : 'simple'] += 1
      asked.push({ id: found.resource.id, url: `/${base}?${code}=${encodeURIComponent(found.value)}&_count=1000` })
    }
    // Something beside them that need not be found.
    for (const type of examples.keys()) for (const one of examplesOf(type).slice(0, 5)) await store(one)
    const failures: string[] = []
    for (const { id, url } of asked) {
      const answer = await server.inject(url)
      const ids = answer.statusCode === 200 ? (answer.json().entry ?? []).map((entry: any) => entry.resource.id) : []
      if (!ids.includes(id)) failures.push(`${url} → ${answer.statusCode} ${answer.body.slice(0, 160)}`)
    }
    assert.equal(failures, [])
    // What no example has a value for cannot be tried.
    assert.ok(tried.simple >= 1_289 && tried.composite >= 28, `${JSON.stringify(tried)}, ${without.length} without`)
  } finally {
    await server.stop()
  }
})

test.run()
