/**
 * Every search parameter of R4 core that an R4 example has a value for finds that example by it. Parameters without a
 * value in any example are counted.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import database from '../../../plugins/database/index.ts'
import fhir from '../../../plugins/fhir/index.ts'
import type { Convert, Kind } from '../../../plugins/fhir/search/convert/kind.ts'
import { convertible, createConverters } from '../../../plugins/fhir/search/convert.ts'
import { compileExtractor } from '../../../plugins/fhir/search/extractor.ts'
import { compileModel, type StoredModel } from '../../../plugins/fhir/search/model.ts'
import { Rows } from '../../../plugins/fhir/search/rows.ts'
import { serverWith } from '../../support/server-with.ts'
import { examplesFolder, stubDefinitions } from '../../support/stub-definitions.ts'

const names = readdirSync(examplesFolder).filter((name) => name.endsWith('.json') && name !== 'package.json')
const load = (name: string) => JSON.parse(readFileSync(join(examplesFolder, name), 'utf8'))
const loadAll = (type: string) => names.filter((name) => name.startsWith(`${type}-`)).map(load)
const MOST_EXAMPLES = 40 // of one type

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

test('each search parameter finds an example by a value taken from it', async () => {
  const server = await serverWith({
    plugins: [database, stubDefinitions('all'), fhir],
    settings: { conformance: { update_as_create: true } },
  })
  try {
    const stored = new Map<string, any[]>()
    for (const name of names) {
      const type = name.slice(0, name.indexOf('-'))
      const list = stored.get(type) ?? []
      if (!types.includes(type) || list.length >= MOST_EXAMPLES) continue
      const resource = load(name)
      if (resource.resourceType !== type || typeof resource.id !== 'string') continue
      const answer = await server.inject({
        method: 'PUT',
        url: `/${type}/${resource.id}`,
        headers: { 'content-type': 'application/fhir+json' },
        payload: JSON.stringify(resource),
      })
      assert.is(answer.statusCode, 201, `${name}: ${answer.body.slice(0, 200)}`)
      list.push(resource)
      stored.set(type, list)
    }
    let tried = 0
    const without: string[] = []
    const failures: string[] = []
    const { refers, hasExtension } = createConverters({ long: () => 0, short: () => 0 })
    for (const { base, code, columns, type } of model.parameters) {
      const examples = stored.get(base) ?? []
      if (type === 'composite' || type === 'special') continue
      let found: { id: string; value: string } | undefined
      for (const resource of examples) {
        const seen: { kind: Kind; value: unknown }[] = []
        const collector = {
          of: (kind: Kind, one: string): Convert | undefined =>
            convertible(kind, one) ? (_rows, _column, value) => void seen.push({ kind, value }) : undefined,
          refers,
          hasExtension,
        }
        const used = columns.map(({ column, refers: only }) => {
          const { kind, branches } = model.columns[column] as StoredModel['columns'][number]
          const narrowed =
            only === undefined
              ? branches
              : branches.map((branch) => ({
                  ...branch,
                  steps: [...branch.steps, { step: 'where', where: { test: 'refers', type: only } } as const],
                }))
          return { code: column, kind, branches: narrowed }
        })
        compileExtractor(used, collector as never)(resource, new Rows())
        for (const { kind, value } of seen) {
          const text = toValue(kind, value)
          if (text !== undefined && found === undefined) found = { id: resource.id, value: text }
        }
        if (found !== undefined) break
      }
      if (found === undefined) {
        without.push(`${base}.${code}`)
        continue
      }
      tried += 1
      const url = `/${base}?${code}=${encodeURIComponent(found.value)}&_count=1000`
      const answer = await server.inject(url)
      const ids = answer.statusCode === 200 ? (answer.json().entry ?? []).map((entry: any) => entry.resource.id) : []
      if (!ids.includes(found.id)) failures.push(`${url} → ${answer.statusCode} ${answer.body.slice(0, 160)}`)
    }
    assert.equal(failures, [])
    assert.ok(tried > 900, `${tried} parameters had a value, ${without.length} had none`)
  } finally {
    await server.stop()
  }
})

test.run()
