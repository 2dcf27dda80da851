/** A large definition does not hold up others: it is parsed and read in short turns of the main thread. */
// database: sqlite, because definitions are read by the main thread, wherever they were stored
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import database from '../../../plugins/database/index.ts'
import terminology from '../../../plugins/terminology/index.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { terminologyDefinitions } from '../../support/terminology-definitions.ts'
import { watchTurns } from '../../support/watch-turns.ts'

type Json = Record<string, any>

const CODES = 60_000
/** Of CPU time. At once, these take from 90 ms to more than half a second. */
const MAX_MS = 75
const plugins = [database, terminologyDefinitions(), ...fhirPlugins, terminology]
const codes = (count: number): Json[] =>
  Array.from({ length: count }, (_, n) => ({ code: `c${n}`, display: `The concept ${n}` }))

const definitions: readonly Json[] = [
  {
    ...{ resourceType: 'ValueSet', id: 'listed', url: 'http://sets.example/listed', status: 'active' },
    compose: { include: [{ system: 'http://codes.example', concept: codes(30_000) }] },
  },
  {
    ...{ resourceType: 'ValueSet', id: 'given', url: 'http://sets.example/given', status: 'active' },
    expansion: {
      timestamp: '2026-01-01',
      contains: codes(30_000).map((one) => ({ ...one, system: 'http://codes.example' })),
    },
  },
  {
    ...{ resourceType: 'ValueSet', id: 'many', url: 'http://sets.example/many', status: 'active' },
    compose: { include: [{ system: 'http://codes.example', concept: codes(CODES) }] },
  },
  {
    ...{ resourceType: 'ConceptMap', id: 'map', url: 'http://maps.example/map', status: 'active' },
    group: [
      {
        ...{ source: 'http://codes.example', target: 'http://others.example' },
        element: codes(CODES).map(({ code }) => ({ code, target: [{ code: `o${code}`, equivalence: 'equal' }] })),
      },
    ],
  },
]
const translate = '/ConceptMap/$translate?system=http://codes.example&code=c59999'
const ASKED: readonly (readonly [url: string, status: number, has: RegExp])[] = [
  ['/ValueSet/$expand?url=http://sets.example/listed&count=5', 200, /"c4"/],
  ['/ValueSet/$expand?url=http://sets.example/listed&filter=concept 29999', 200, /"c29999"/],
  ['/ValueSet/$validate-code?url=http://sets.example/given&system=http://codes.example&code=c29999', 200, /true/],
  ['/ValueSet/many/$expand?count=5', 400, /50,?000/],
  [`${translate}&url=http://maps.example/map`, 200, /"oc59999"/],
  ['/ConceptMap/map/$translate?system=http://codes.example&code=c59999', 200, /"oc59999"/],
  [translate.replace('c59999', 'c5'), 200, /"oc5"/],
]

let server: TestServer
const put = async (resource: Json): Promise<void> => {
  const url = `/${resource.resourceType}/${resource.id}`
  const headers = { 'content-type': 'application/fhir+json' }
  const answer = await server.inject({ method: 'PUT', url, headers, payload: JSON.stringify(resource) })
  assert.ok(answer.statusCode < 300, answer.body)
}

test('questions about large definitions are answered in short turns', async () => {
  server = await serverWith({ plugins, settings: { conformance: { update_as_create: true } } })
  for (const one of definitions) await put(one)
  const turns = watchTurns()
  const took: string[] = []
  try {
    for (const [url, status, has] of ASKED) {
      await new Promise((resolve) => setImmediate(resolve))
      turns.take()
      const answer = await server.inject(encodeURI(url))
      const { most } = turns.take()
      assert.is(answer.statusCode, status, answer.body)
      assert.match(answer.body, has)
      took.push(`${url}: ${Math.round(most)} ms`)
      assert.ok(most <= MAX_MS, took.join('\n'))
    }
    if (process.env.SHOW === '1') console.log(took.join('\n'))
  } finally {
    turns.stop()
    await server.stop()
  }
})

test.run()
