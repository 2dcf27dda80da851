// database: postgres, the only kind that several servers share
/** A parameter that one server was sent is known to another on the same database, and never answered wrongly there. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type AnyPlugin, type Clock, definePlugin, systemClock } from '../../../kernel/index.ts'
import { Database } from '../../../plugins/database/service.ts'
import { chosenKind, type FreshDatabase } from '../../support/database-kinds.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { searchDefinitions } from '../../support/search-definitions.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { until } from '../../support/until.ts'
import { writersTogether as database } from '../../support/writers-together.ts'

const LOOK_MS = 5_000 // how often a server looks by itself
const headers = { 'content-type': 'application/fhir+json' }
let place: FreshDatabase
let one: TestServer
let other: TestServer
let looks: AbortController[] = []
/** The looks of the other server come when the test says so. */
const clock: Clock = {
  ...systemClock,
  deadline(ms) {
    if (ms !== LOOK_MS) return systemClock.deadline(ms)
    const controller = new AbortController()
    looks.push(controller)
    return controller.signal
  },
}
const look = (): void => {
  const due = looks
  looks = []
  for (const controller of due) controller.abort()
}

test.before(async () => {
  place = await chosenKind.fresh()
  const options = {
    plugins: [database, searchDefinitions(), ...fhirPlugins],
    settings: { ...place.settings, conformance: { update_as_create: true } },
  }
  one = await serverWith(options)
  other = await serverWith({ ...options, plugins: [counting, searchDefinitions(), ...fhirPlugins], clock })
})
test.after(async () => {
  await Promise.all([one.stop(), other.stop()])
  await place.remove()
})

/** How often the other server has looked because of a search. */
let asked = 0
const counting: AnyPlugin = definePlugin({
  ...(database as AnyPlugin),
  setup: (host) =>
    database.setup({
      ...(host as Parameters<typeof database.setup>[0]),
      provide(service, instance) {
        const inner = instance as unknown as Database
        const get: Database['get'] = (statement, params) => {
          if (statement.name === 'search.generation') asked += 1
          return inner.get(statement, params)
        }
        host.provide(service, (service as unknown) === Database ? ({ ...inner, get } as never) : instance)
      },
    }),
})

const put = async (resource: Record<string, unknown>): Promise<void> => {
  const url = `/${resource.resourceType}/${resource.id}`
  const answer = await one.inject({ method: 'PUT', url, headers, payload: JSON.stringify(resource) })
  assert.ok(answer.statusCode < 300, answer.body)
}
const parameter = (given: Record<string, unknown> = {}) => ({
  resourceType: 'SearchParameter',
  id: 'suffix',
  url: 'http://example.org/suffix',
  name: 'suffix',
  status: 'active',
  description: 'x',
  code: 'suffix',
  base: ['Patient'],
  type: 'string',
  expression: 'Patient.name.suffix',
  ...given,
})
const found = async (server: TestServer, url: string): Promise<string[]> => {
  let ids: string[] = []
  await until(
    async () => {
      const answer = await server.inject(url)
      if (answer.statusCode === 503) return false
      assert.is(answer.statusCode, 200, answer.body)
      ids = (answer.json().entry ?? []).map((entry: any) => entry.resource.id).sort()
      return true
    },
    10_000,
    url,
  )
  return ids
}
const isListed = async (): Promise<boolean> =>
  (await other.inject('/metadata')).body.includes('http://example.org/suffix')

test('a search by what was posted elsewhere is answered at once, /metadata after the next look', async () => {
  for (let at = 0; at < 120; at += 1)
    await put({
      resourceType: 'Patient',
      id: `p${at}`,
      name: [{ family: 'f', given: ['g'], suffix: [at < 3 ? 'Jr' : 'Sr'] }],
    })
  await put(parameter())
  assert.is(await isListed(), false)
  look()
  await until(isListed, 5_000, 'the look of the other server')
  assert.equal(await found(other, '/Patient?suffix=jr'), ['p0', 'p1', 'p2'])
})

test('a change of the expression and a deletion are heeded by the very next search', async () => {
  await put(parameter({ expression: 'Patient.name.given' }))
  assert.equal(await found(other, '/Patient?suffix=jr'), [])
  assert.is((await found(other, '/Patient?suffix=g&_count=1000')).length, 120)
  await one.inject({ method: 'DELETE', url: '/SearchParameter/suffix' })
  assert.is((await other.inject('/Patient?suffix=g')).statusCode, 400)
  const chain = await other.inject('/Observation?subject:Patient.suffix=g')
  assert.is(chain.statusCode, 400)
  await put(parameter({ code: 'again' }))
  assert.equal(await found(other, '/Patient?again=jr&_sort=-_lastUpdated'), ['p0', 'p1', 'p2'])
})

test('a condition by what was posted elsewhere is understood at once', async () => {
  for (const [id, condition] of [
    ['condition', 'condition=jr&_id=p1'],
    ['filtered', '_filter=filtered eq jr and _id eq p1'],
  ] as const) {
    await put(parameter({ id, url: `http://example.org/${id}`, code: id }))
    await found(one, `/Patient?${id}=jr`)
    const answer = await other.inject({
      method: 'POST',
      url: '/Patient',
      headers: { ...headers, 'if-none-exist': condition.replaceAll(' ', '%20') },
      payload: '{"resourceType":"Patient"}',
    })
    assert.equal([answer.statusCode, answer.json().id], [200, 'p1'], answer.body)
  }
})

test('a search by nothing that can have changed asks for nothing more', async () => {
  const count = async (url: string): Promise<number> => {
    asked = 0
    const answer = await other.inject(url)
    assert.is(answer.statusCode, 200, answer.body)
    return asked
  }
  for (const url of [
    '/Patient',
    '/Patient?name:exact=f&gender:not=male&_id=p1&_lastUpdated=gt2000',
    '/Patient?_sort=-birthdate,_lastUpdated',
    '/Observation?subject:Patient.name:contains=f',
    '/Patient?_has:Observation:patient:code=x&_revinclude:iterate=Observation:subject',
    '/Observation?_include=Observation:subject:Patient&_count=5&_summary=true',
  ])
    assert.is(await count(url), 0, url)
  for (const url of [
    '/Patient?again=jr',
    '/Patient?_filter=again eq jr',
    '/Patient?_sort=again',
    '/Patient?_include=*',
  ])
    assert.is(await count(url), 1, url)
})

test.run()
