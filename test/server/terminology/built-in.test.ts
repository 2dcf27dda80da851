/** Code systems that libraries know: units, media types, languages, countries, currencies. */
// database: sqlite, because these code systems are in the process
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import database from '../../../plugins/database/index.ts'
import terminology from '../../../plugins/terminology/index.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { stubDefinitions } from '../../support/stub-definitions.ts'

let server: TestServer
const headers = { 'content-type': 'application/fhir+json' }
const [UCUM, MEDIA, LANGUAGES] = ['http://unitsofmeasure.org', 'urn:ietf:bcp:13', 'urn:ietf:bcp:47']
const [COUNTRIES, PARTS, CURRENCIES] = ['urn:iso:std:iso:3166', 'urn:iso:std:iso:3166:-2', 'urn:iso:std:iso:4217']

test.before(async () => {
  server = await serverWith({
    plugins: [database, stubDefinitions('all'), ...fhirPlugins, terminology],
    settings: { conformance: { update_as_create: true } },
  })
})
test.after(() => server.stop())

const get = async (path: string, query: Record<string, string>) => {
  const answer = await server.inject(`${path}?${new URLSearchParams(query)}`)
  const body = answer.json() as any
  const value = (name: string): any => {
    const found = body.parameter?.find((one: any) => one.name === name) ?? {}
    return Object.entries(found).find(([member]) => member.startsWith('value'))?.[1]
  }
  return { status: answer.statusCode, body, value }
}
const isCode = async (url: string, code: string): Promise<unknown> =>
  (await get('/CodeSystem/$validate-code', { url, code })).value('result')
const display = async (system: string, code: string): Promise<unknown> =>
  (await get('/CodeSystem/$lookup', { system, code })).value('display')
const put = (resource: any) =>
  server.inject({
    method: 'PUT',
    url: `/${resource.resourceType}/${resource.id}`,
    headers,
    payload: JSON.stringify({ status: 'active', ...resource }),
  })

test('units of UCUM are expressions', async () => {
  for (const code of ['mg/dL', 'mm[Hg]', '10*3/uL', '{score}', '%', 'kg.m/s2', 'mL/min/{1.73_m2}', '/min'])
    assert.is(await isCode(UCUM, code), true, code)
  for (const code of ['meter', 'mcg', 'MG/Dl]', 'm[', '{', `m${'.m'.repeat(150)}`])
    assert.is(await isCode(UCUM, code), false, code)
  assert.is(await display(UCUM, 'mg/dL'), 'milligram per deciliter')
  assert.is((await get('/CodeSystem/$lookup', { system: UCUM, code: 'meter' })).status, 404)
})

test('media types: registered ones, others of their form, with parameters, in any case', async () => {
  for (const code of ['application/fhir+json', 'text/plain', 'TEXT/Plain', 'text/plain; charset=utf-8', 'image/x-own'])
    assert.is(await isCode(MEDIA, code), true, code)
  for (const code of ['text', 'text/', 'nonsense/plain', 'text/plain;', 'text/plain; charset', 'a b/c'])
    assert.is(await isCode(MEDIA, code), false, code)
})

test('language tags are made of registered subtags, in any case', async () => {
  for (const code of ['de', 'de-AT', 'EN-us', 'es-419', 'zh-Hant-TW', 'de-1996', 'en-x-private', 'iw', 'i-klingon'])
    assert.is(await isCode(LANGUAGES, code), true, code)
  for (const code of ['xx', 'de-QQ', 'de-AT-AT', 'de-', 'de_AT', 'de-1996-1996', 'german-language-tag', 'de-u'])
    assert.is(await isCode(LANGUAGES, code), false, code)
  assert.is(await display(LANGUAGES, 'de-AT'), 'German (Austria)')
})

test('countries, their parts, and currencies', async () => {
  for (const code of ['AT', 'AUT', '040']) {
    assert.is(await isCode(COUNTRIES, code), true, code)
    assert.is(await display(COUNTRIES, code), 'Austria')
  }
  for (const code of ['XX', 'at', '999']) assert.is(await isCode(COUNTRIES, code), false, code)
  const { body } = await get('/CodeSystem/$lookup', { system: COUNTRIES, code: 'AT', property: 'numeric' })
  assert.ok(JSON.stringify(body).includes('"valueCode":"040"'))
  assert.is(await isCode(PARTS, 'AT-9'), true)
  assert.is(await isCode(CURRENCIES, 'EUR'), true)
  assert.is(await isCode(CURRENCIES, 'XYZ'), false)
  assert.is(await display(CURRENCIES, 'EUR'), 'Euro')
})

const systemSet = (id: string, system: string, more: object = {}) => ({
  resourceType: 'ValueSet',
  id,
  url: `http://sets.example/${id}`,
  compose: { include: [{ system }], ...more },
})

test('a value set of all codes checks them, and is expanded where they can be listed', async () => {
  await put(systemSet('units', UCUM))
  await put(systemSet('media', MEDIA))
  await put(systemSet('currencies', CURRENCIES))
  const check = async (id: string, system: string, code: string) =>
    (await get(`/ValueSet/${id}/$validate-code`, { system, code })).value('result')
  assert.is(await check('units', UCUM, 'mg/dL'), true)
  assert.is(await check('units', UCUM, 'mcg'), false)
  assert.is(await check('units', COUNTRIES, 'AT'), false)
  assert.is(await check('media', MEDIA, 'text/plain; charset=utf-8'), true)
  assert.is(await check('currencies', CURRENCIES, 'EUR'), true)
  const units = await get('/ValueSet/units/$expand', {})
  assert.is(units.status, 400)
  assert.match(units.body.issue[0].diagnostics, 'cannot be listed')
  const media = await get('/ValueSet/media/$expand', { count: '1' })
  assert.ok(media.body.expansion.total > 1000)
  assert.ok(JSON.stringify(media.body.expansion.extension).includes('valueset-unclosed'))
  const currencies = await get('/ValueSet/currencies/$expand', {})
  assert.is(currencies.body.expansion.extension, undefined)
  assert.ok(currencies.body.expansion.contains.some(({ code }: any) => code === 'EUR'))
})

test('codes that are excluded, or filters, are not guessed', async () => {
  await put(systemSet('some-units', UCUM, { exclude: [{ system: UCUM, concept: [{ code: 'mg' }] }] }))
  const excluded = await get('/ValueSet/some-units/$validate-code', { system: UCUM, code: 'mg' })
  assert.is(excluded.value('result'), false)
  const filter = [{ property: 'canonical', op: '=', value: 'm' }]
  await put({ ...systemSet('lengths', UCUM), compose: { include: [{ system: UCUM, filter }] } })
  const filtered = await get('/ValueSet/lengths/$validate-code', { system: UCUM, code: 'm' })
  assert.is(filtered.status, 400)
  assert.match(filtered.body.issue[0].diagnostics, 'built by rules')
})

test('a value set may list codes that are no longer in use', async () => {
  const listed = { system: CURRENCIES, concept: [{ code: 'DEM', display: 'Deutsche Mark' }, { code: 'EUR' }] }
  await put({ ...systemSet('old', CURRENCIES), compose: { include: [listed] } })
  const { body } = await get('/ValueSet/old/$expand', {})
  assert.equal(
    body.expansion.contains.map(({ code, display: shown }: any) => `${code} ${shown}`),
    ['DEM Deutsche Mark', 'EUR Euro'],
  )
})

test('a stored code system is used instead', async () => {
  await put({
    resourceType: 'CodeSystem',
    id: 'own-currencies',
    url: CURRENCIES,
    content: 'complete',
    concept: [{ code: 'OWN', display: 'Own' }],
  })
  assert.is(await isCode(CURRENCIES, 'OWN'), true)
  assert.is(await isCode(CURRENCIES, 'EUR'), false)
  await server.inject({ method: 'DELETE', url: '/CodeSystem/own-currencies' })
  assert.is(await isCode(CURRENCIES, 'EUR'), true)
})

test.run()
