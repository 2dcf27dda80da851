/** A grant's query decides on single versions in memory as the search does by its index: what is found is what is read. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { definePlugin, type Restriction } from '../../../kernel/index.ts'
import database from '../../../plugins/database/index.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { matching } from '../../support/restrictions.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { stubDefinitions } from '../../support/stub-definitions.ts'

type Json = Record<string, any>

let restriction: Restriction | undefined
const gate = definePlugin({
  name: 'gate',
  setup({ hooks }) {
    hooks.authorize.tap('restrict', (_request, _interaction, ruling) => {
      if (restriction !== undefined) ruling.restrict(restriction)
    })
  },
})

const coded = (...codings: readonly (readonly [string | undefined, string])[]): Json => ({
  coding: codings.map(([system, code]) => ({ ...(system === undefined ? {} : { system }), code })),
})
const value = (number: number): Json => ({ value: number, unit: 'kg', system: 'http://unitsofmeasure.org', code: 'kg' })
const [ONE, OTHER] = ['http://one.example.org', 'http://other.example.org']

/** Observations by id. */
const OBSERVATIONS: Readonly<Record<string, Json>> = {
  bare: { code: coded([undefined, 'a']) },
  one: { code: coded([ONE, 'b']) },
  other: { code: coded([OTHER, 'b']) },
  both: { code: coded([OTHER, 'c'], [ONE, 'c']) },
  weighed: { code: coded([ONE, 'w']), valueQuantity: value(3) },
  components: {
    code: coded([ONE, 'x']),
    component: [
      { code: coded([ONE, 'y']), valueQuantity: value(1) },
      { code: coded([ONE, 'z']), valueQuantity: value(2) },
      { code: coded([ONE, 'z']), valueQuantity: value(4) },
    ],
  },
  mixed: {
    code: coded([ONE, 'm']),
    valueQuantity: value(5),
    component: [{ code: coded([ONE, 'z']), valueQuantity: value(6) }],
  },
  grouped: { code: coded([ONE, 'g']), subject: { reference: 'Group/g' } },
  dated: { code: coded([ONE, 'd']), effectiveDateTime: '2024-02-29', subject: { reference: 'Patient/p' } },
}

let server: TestServer
test.before(async () => {
  server = await serverWith({
    plugins: [database, stubDefinitions('all'), gate, ...fhirPlugins],
    settings: { conformance: { update_as_create: true } },
  })
  for (const [id, content] of Object.entries(OBSERVATIONS)) {
    const payload = JSON.stringify({ resourceType: 'Observation', id, status: 'final', ...content })
    const headers = { 'content-type': 'application/fhir+json' }
    const answer = await server.inject({ method: 'PUT', url: `/Observation/${id}`, headers, payload })
    assert.is(answer.statusCode, 201, answer.body)
  }
})
test.after(() => server.stop())

const found = async (): Promise<readonly string[]> =>
  ((await server.inject('/Observation?_count=1000')).json().entry ?? []).map(({ resource }: Json) => resource.id).sort()
const read = async (): Promise<readonly string[]> => {
  const ids: string[] = []
  for (const id of Object.keys(OBSERVATIONS))
    if ((await server.inject(`/Observation/${id}`)).statusCode === 200) ids.push(id)
  return ids.sort()
}

for (const [query, expected] of [
  ['code=b', ['one', 'other']],
  [`code=a,${ONE}|b`, ['bare', 'one']],
  [`code=${ONE}|c,b`, ['both', 'one', 'other']],
  [`code=w,${ONE}|b,x,${OTHER}|z`, ['components', 'one', 'weighed']],
  [`code:not=a,${ONE}|b`, ['both', 'components', 'dated', 'grouped', 'mixed', 'other', 'weighed']],
  ['value-quantity:missing=false', ['mixed', 'weighed']],
  ['value-quantity:missing=true', ['bare', 'both', 'components', 'dated', 'grouped', 'one', 'other']],
  ['component-value-quantity:missing=false', ['components', 'mixed']],
  ['combo-value-quantity:missing=false', ['components', 'mixed', 'weighed']],
  ['component-code-value-quantity:missing=false', ['components', 'mixed']],
  ['code-value-quantity:missing=false', ['mixed', 'weighed']],
  ['component-code-value-quantity=z$4', ['components']],
  ['date:missing=false', ['dated']],
  ['patient:missing=false', ['dated']],
  ['patient:missing=true', ['bare', 'both', 'components', 'grouped', 'mixed', 'one', 'other', 'weighed']],
  ['subject:missing=true', ['bare', 'both', 'components', 'mixed', 'one', 'other', 'weighed']],
] as const)
  test(`what ${query} finds is what may be read`, async () => {
    restriction = matching('Observation', query)
    const [ids, readable] = [await found(), await read()]
    restriction = undefined
    assert.equal(ids, expected, 'found')
    assert.equal(readable, expected, 'read')
  })

test.run()
