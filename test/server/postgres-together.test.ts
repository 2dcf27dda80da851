/** Two servers that write into one PostgreSQL at the same moment: neither is in the way of the other. */
// database: postgres, the one kind that several processes share
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { chosenKind, type FreshDatabase } from '../support/database-kinds.ts'
import { namedPlugins } from '../support/named-plugins.ts'
import { type ServerHere, serveHere } from '../support/serve-here.ts'

type Json = Record<string, any>

const EACH = 80
const ROUNDS = 25
const JSON_TYPE = { 'content-type': 'application/fhir+json' }
let fresh: FreshDatabase
let servers: readonly [ServerHere, ServerHere]

test.before(async () => {
  const plugins = ['audit', 'search-definitions', 'writers-together']
  fresh = await chosenKind.fresh(await namedPlugins(plugins))
  const start = (): Promise<ServerHere> =>
    serveHere(fresh.settings, {
      plugins,
      settings: { audit: { key: 'a key of the chain for tests' } },
    })
  servers = [await start(), await start()]
})
test.after(async () => {
  await Promise.all((servers ?? []).map((server) => server.stop()))
  await fresh.remove()
})

const ask = async (at: number, method: string, path: string, body?: Json, more: Record<string, string> = {}) => {
  const answer = await fetch(`${servers[at]!.base}${path}`, {
    method,
    ...(body === undefined ? {} : { headers: { ...JSON_TYPE, ...more }, body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  return { status: answer.status, text, json: (text === '' ? {} : JSON.parse(text)) as Json }
}
/** Ids of all pages. */
const search = async (at: number, path: string): Promise<string[]> => {
  const ids: string[] = []
  for (let next: string | undefined = path; next !== undefined; ) {
    const { status, json, text } = await ask(at, 'GET', next)
    assert.is(status, 200, text)
    for (const { resource } of (json.entry ?? []) as Json[]) ids.push(resource.id)
    const link = (json.link as Json[]).find(({ relation }) => relation === 'next')
    next = link === undefined ? undefined : new URL(link.url).pathname + new URL(link.url).search
  }
  return ids
}
const patient = (family: string): Json => ({ resourceType: 'Patient', name: [{ family }] })

test(`${EACH} creates at once on each: all are made, readable and found on both, and the trail is one chain`, async () => {
  const answers = await Promise.all(
    Array.from({ length: 2 * EACH }, (_, n) => ask(n % 2, 'POST', '/Patient', patient(`many${n}`))),
  )
  const refused = answers.filter(({ status }) => status !== 201)
  assert.equal(
    refused.map(({ status, text }) => `${status} ${text}`),
    [],
  )
  const ids = answers.map(({ json }) => json.id as string).sort()
  for (const at of [0, 1]) {
    for (const id of ids.slice(0, 40)) assert.is((await ask(at, 'GET', `/Patient/${id}`)).status, 200)
    assert.equal((await search(at, '/Patient?family=many&_count=50')).sort(), ids)
    assert.equal((await search(at, '/Patient?_sort=-_lastUpdated&_count=50')).sort(), ids)
    assert.is((await ask(at, 'GET', '/Patient?family=many&_total=accurate&_count=1')).json.total, 2 * EACH)
  }
  const history = await search(0, '/Patient/_history?_count=50')
  assert.equal(history.sort(), ids)
  const verdict = (await ask(1, 'GET', '/_audit/verify')).json
  assert.is(verdict.ok, true, JSON.stringify(verdict))
})

test('what one has created is found by the other in the next search, whichever wrote last', async () => {
  for (let round = 0; round < 10; round += 1) {
    const at = round % 2
    const { json } = await ask(at, 'POST', '/Patient', patient(`round${round}`))
    assert.equal(await search(1 - at, `/Patient?family=round${round}`), [json.id])
  }
})

test('updates of one resource by both make versions without gaps, in the order of their times', async () => {
  const { json } = await ask(0, 'POST', '/Patient', patient('first'))
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, n) =>
      ask(n % 2, 'PUT', `/Patient/${json.id}`, { ...patient(`update${n}`), id: json.id }),
    ),
  )
  assert.equal([...new Set(answers.map(({ status }) => status))], [200])
  const { entry } = (await ask(1, 'GET', `/Patient/${json.id}/_history?_count=100`)).json
  assert.equal(
    (entry as Json[]).map(({ resource }) => Number(resource.meta.versionId)),
    Array.from({ length: 41 }, (_, n) => 41 - n),
  )
})

test('creates under one condition on both make one resource', async () => {
  const one = { resourceType: 'Patient', identifier: [{ system: 'http://example.org/one', value: '1' }] }
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, n) =>
      ask(n % 2, 'POST', '/Patient', one, { 'if-none-exist': 'identifier=http://example.org/one|1' }),
    ),
  )
  assert.equal(answers.map(({ status }) => status).sort(), [...Array.from({ length: 19 }, () => 200), 201])
})

test('updates that bring an id on both at once make one resource', async () => {
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, n) => ask(n % 2, 'PUT', '/Patient/both', { ...patient('x'), id: 'both' })),
  )
  assert.equal(answers.map(({ status }) => status).sort(), [...Array.from({ length: 19 }, () => 200), 201])
})

test(`in ${ROUNDS} rounds of updates that bring one id on both, every answer is a success and the trail tells each change`, async () => {
  const counted: Record<string, number> = {}
  for (let round = 0; round < ROUNDS; round += 1) {
    const id = `round${round}`
    const put = (n: number) => ask(n % 2, 'PUT', `/Patient/${id}`, { ...patient(`family${n}`), id })
    for (const { status, text } of await Promise.all(Array.from({ length: 8 }, (_, n) => put(n)))) {
      const answer = status < 300 ? String(status) : `${status} ${text}`
      counted[answer] = (counted[answer] ?? 0) + 1
    }
  }
  assert.equal(counted, { 201: ROUNDS, 200: 7 * ROUNDS })
  const verdict = (await ask(0, 'GET', '/_audit/verify')).json
  assert.is(verdict.ok, true, JSON.stringify(verdict))
})

test.run()
