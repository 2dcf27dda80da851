/** Searches with many values: they are answered, or refused with 400 before a database is asked. */
// npm test: sqlite and postgres, whose limits of statements differ
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import database from '../../../plugins/database/index.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { stubDefinitions } from '../../support/stub-definitions.ts'

const UCUM = 'http://unitsofmeasure.org'
let server: TestServer
test.before(async () => {
  server = await serverWith({ plugins: [database, stubDefinitions('all'), ...fhirPlugins] })
  const made = await server.inject({
    method: 'POST',
    url: '/Observation',
    headers: { 'content-type': 'application/fhir+json' },
    payload: JSON.stringify({
      resourceType: 'Observation',
      status: 'final',
      code: { coding: [{ system: 'http://loinc.org', code: '8867-4' }] },
      effectiveDateTime: '2024-02-29',
      valueQuantity: { value: 72, unit: 'beats', system: UCUM, code: '/min' },
    }),
  })
  assert.is(made.statusCode, 201, made.body)
})
test.after(() => server.stop())

/** `count` values, separated by commas. */
const many = (count: number, value: (at: number) => string): string =>
  Array.from({ length: count }, (_, at) => value(at)).join(',')

const search = (type: string, parameters: readonly (readonly [string, string])[]) =>
  server.inject({
    method: 'POST',
    url: `/${type}/_search`,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    payload: new URLSearchParams(parameters.map(([name, value]): [string, string] => [name, value])).toString(),
  })

const ANSWERED: Readonly<Record<string, readonly (readonly [string, string])[]>> = {
  'three heart rates with their unit': [['value-quantity', many(3, (at) => `${70 + at}|${UCUM}|/min`)]],
  'eleven masses with their unit, or none': [['value-quantity', `72,${many(11, (at) => `${at}|${UCUM}|mg`)}`]],
  'twenty codes with a mass': [
    ['value-quantity', '72'],
    ['code-value-quantity', `8867-4$72,${many(20, (at) => `a$${at}|${UCUM}|mg`)}`],
  ],
  'a thousand dates': [
    ['date', many(1_000, (at) => (at === 999 ? '2024-02-29' : `ge2099-01-01T00:00:${10 + (at % 50)}Z`))],
  ],
  'a thousand numbers': [['value-quantity', many(1_000, String)]],
}
for (const [name, parameters] of Object.entries(ANSWERED))
  test(`${name} are compared`, async () => {
    const answer = await search('Observation', parameters)
    assert.is(answer.statusCode, 200, answer.body.slice(0, 300))
    assert.is(answer.json().entry?.length, 1)
  })

const REFUSED: Readonly<Record<string, readonly (readonly [string, string])[]>> = {
  'a hundred heart rates with their unit': [['value-quantity', many(100, (at) => `${at}|${UCUM}|/min`)]],
  'forty times a thousand patients': Array.from({ length: 40 }, () => [
    'subject',
    many(1_000, (at) => `Patient/t${at}`),
  ]),
}
for (const [name, parameters] of Object.entries(REFUSED))
  test(`${name} are too costly, and the server goes on`, async () => {
    const answer = await search('Observation', parameters)
    assert.is(answer.statusCode, 400, answer.body.slice(0, 300))
    assert.is(answer.json().issue[0].code, 'too-costly')
    assert.is((await server.inject('/Observation?value-quantity=72')).json().entry?.length, 1)
  })

test.run()
