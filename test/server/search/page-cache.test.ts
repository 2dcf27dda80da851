/**
 * What a search found is kept, and answered with again for as long as nothing about it has changed. Clients write and
 * search at once, in an order that chance decides; whatever was answered 2xx is in the next search, which is held against
 * a form: that one always looks anew.
 */
// memory: reads wait there while a transaction is open
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { definePlugin } from '../../../kernel/index.ts'
import { createDice, type Dice } from '../../bench/corpus/random.ts'
import { chosenKind } from '../../support/database-kinds.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { searchDefinitions } from '../../support/search-definitions.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { watchedDatabase } from '../../support/watched-database.ts'

const LOINC = 'http://loinc.org'
const PATIENTS = ['p1', 'p2', 'p3']
const OBSERVATIONS = Array.from({ length: 12 }, (_, at) => `o${at}`)
const CODES = ['a', 'b']
const ROUNDS = 24
const STATUSES = ['final', 'amended']
const FAMILIES = ['Keebler', 'Keeble', 'Novak']
const headers = { 'content-type': 'application/fhir+json' }

type Resource = Record<string, any>
interface Entry {
  readonly resource?: Resource
  readonly request: Resource
}

let server: TestServer
const { plugin: database, watch } = watchedDatabase()
/** Where a write waits inside its transaction, when it is told to. */
const gate: { wait: Promise<void> | undefined; open(): void; reached(): void } = {
  wait: undefined,
  open() {},
  reached() {},
}
const gated = definePlugin({
  name: 'gated',
  setup({ hooks }) {
    hooks.onWrite.tapPromise('wait at the gate', async () => {
      if (gate.wait === undefined) return
      gate.reached()
      await gate.wait
    })
  },
})

test.before(async () => {
  const plugins = [database, searchDefinitions(), ...fhirPlugins, gated]
  server = await serverWith({
    plugins,
    settings: { server: { bind: '127.0.0.1:0' }, conformance: { update_as_create: true } },
  })
})
test.after(() => server.stop())

const query = (pairs: Resource): string => new URLSearchParams(pairs).toString()
/** Each starts from another kind of key: two columns together, a reference, a code, a range of names. */
const ADDRESSES: readonly string[] = [
  ...PATIENTS.flatMap((patient) => [
    ...CODES.map((code) => `/Observation?${query({ patient, code: `${LOINC}|${code}` })}`),
    ...STATUSES.map((status) => `/Observation?${query({ subject: `Patient/${patient}`, status })}`),
    `/Observation?${query({ patient: `Patient/${patient}`, code: `${LOINC}|a`, status: 'final', _count: '2' })}`,
  ]),
  ...CODES.map((code) => `/Observation?${query({ status: 'final', code: `${LOINC}|${code}`, _count: '3' })}`),
  ...['keeb', 'keebler', 'nov'].map((name) => `/Patient?${query({ name })}`),
]

const short = async (path: string): Promise<Resource> => (await server.inject({ method: 'GET', url: path })).json()
const long = async (path: string): Promise<Resource> => {
  const [url = '', payload = ''] = path.split('?')
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  return (await server.inject({ method: 'POST', url: `${url}/_search`, headers: form, payload })).json()
}
const idsOf = ({ entry = [] }: Resource): readonly string[] => entry.map(({ resource }: Resource) => resource.id)
const check = async (path: string): Promise<void> => {
  const [one, other] = [await short(path), await long(path)]
  assert.equal(one.entry, other.entry, path)
  assert.equal(one.link.length, other.link.length, path)
}

const patient = (id: string, family: string): Resource => ({ resourceType: 'Patient', id, name: [{ family }] })
const observation = (id: string, of: string, code: string, status = 'final', more: Resource = {}): Resource => ({
  resourceType: 'Observation',
  id,
  status,
  code: { coding: [{ system: LOINC, code }] },
  subject: { reference: of },
  ...more,
})
const putEntry = (resource: Resource): Entry => ({
  resource,
  request: { method: 'PUT', url: `${resource.resourceType}/${resource.id}` },
})
const transact = (entry: readonly Entry[]) =>
  server.inject({
    method: 'POST',
    url: '/',
    headers,
    payload: JSON.stringify({ resourceType: 'Bundle', type: 'transaction', entry }),
  })
const put = async (...resources: readonly Resource[]): Promise<void> => {
  const answer = await transact(resources.map(putEntry))
  assert.is(answer.statusCode, 200, answer.body)
}

const anyResource = (dice: Dice): Resource =>
  dice.below(4) === 0
    ? patient(dice.pick(PATIENTS), dice.pick(FAMILIES))
    : observation(
        dice.pick(OBSERVATIONS),
        `Patient/${dice.pick(PATIENTS)}`,
        dice.pick(CODES),
        dice.pick(STATUSES),
        // What changes no row of the index changes the page all the same.
        { note: [{ text: `${dice.below(1000)}` }] },
      )
const anyWrite = async (dice: Dice): Promise<'written' | 'undone'> => {
  const kind = dice.below(6)
  if (kind === 0) {
    await server.inject({ method: 'DELETE', url: `/Observation/${dice.pick(OBSERVATIONS)}` })
    return 'written'
  }
  if (kind < 4) {
    const resource = anyResource(dice)
    const url = `/${resource.resourceType}/${resource.id}`
    const answer = await server.inject({ method: 'PUT', url, headers, payload: JSON.stringify(resource) })
    assert.ok(answer.statusCode < 300, answer.body)
    return 'written'
  }
  const seen = new Set<string>()
  const entries = [anyResource(dice), anyResource(dice), anyResource(dice)].filter(
    ({ id }) => !seen.has(id) && seen.add(id),
  )
  if (kind === 4) {
    await put(...entries)
    return 'written'
  }
  const last = { resource: patient('p9', 'Last'), request: { method: 'PUT', url: 'Patient/p9', ifMatch: 'W/"99"' } }
  const answer = await transact([...entries.map(putEntry), last])
  assert.is(answer.statusCode, 412, answer.body)
  return 'undone'
}

test('what was answered 2xx is in the next search, and what was undone is not', async () => {
  const dice = createDice(31)
  await put(...PATIENTS.map((id) => patient(id, dice.pick(FAMILIES))), patient('p9', 'Last'))
  const outcomes = { written: 0, undone: 0 }
  let unasked = 0
  for (let round = 0; round < ROUNDS; round += 1) {
    // Found twice, they are kept; what has waited for a write does not count.
    for (let n = 0; n < 3; n += 1) await Promise.all(ADDRESSES.map(short))
    for (const path of ADDRESSES) {
      const asked = watch.asked
      await short(path)
      if (watch.asked === asked) unasked += 1
    }
    const writes = Array.from({ length: 1 + dice.below(4) }, () => anyWrite(dice).then((one) => (outcomes[one] += 1)))
    const searches = Array.from({ length: 30 }, async (_, at) => {
      for (let turn = 0; turn < at % 5; turn += 1) await new Promise(setImmediate)
      await short(dice.pick(ADDRESSES))
    })
    await Promise.all([...writes, ...searches])
    for (const path of ADDRESSES) await check(path)
  }
  // So the searches that ran beside the writes were answered with pages that were kept.
  assert.is(unasked, ROUNDS * ADDRESSES.length)
  assert.ok(outcomes.written > 30 && outcomes.undone > 6, JSON.stringify(outcomes))
})

test('a page is asked of the database while it is new, and after a write', async () => {
  await put(observation('k1', 'Patient/p1', 'kept'))
  const path = `/Observation?${query({ patient: 'p1', code: `${LOINC}|kept` })}`
  // The first one waits for what was written just before, and what was waited for is not kept.
  for (let n = 0; n < 4; n += 1) assert.equal(idsOf(await short(path)), ['k1'])
  const before = watch.asked
  assert.equal(idsOf(await short(path)), ['k1'])
  assert.is(watch.asked - before, 0)
  await put(observation('k2', 'Patient/p2', 'kept'))
  assert.equal(idsOf(await short(path)), ['k1'])
  await put(observation('k2', 'Patient/p1', 'kept'))
  assert.equal(idsOf(await short(path)), ['k2', 'k1'])
})

test('what is read while a write is under way is no page of what comes after it', async () => {
  const path = `/Observation?${query({ patient: 'p2', code: `${LOINC}|gate` })}`
  await put(observation('w1', 'Patient/p2', 'gate'), observation('w2', 'Patient/p3', 'gate'))
  for (let n = 0; n < 4; n += 1) await short(path)
  const written = new Promise<void>((resolve) => {
    gate.reached = resolve
  })
  const opened = new Promise<void>((resolve) => {
    gate.open = resolve
  })
  gate.wait = opened
  const writing = put(observation('w2', 'Patient/p2', 'gate'))
  await written
  // In memory they wait for the transaction.
  const searching = Array.from({ length: 6 }, () => short(path))
  if (chosenKind.name !== 'memory') for (const body of await Promise.all(searching)) assert.equal(idsOf(body), ['w1'])
  gate.wait = undefined
  gate.open()
  await Promise.all([writing, ...searching])
  for (let n = 0; n < 3; n += 1) assert.equal(idsOf(await short(path)), ['w2', 'w1'])
})

test('a page has the addresses of the host that asks for it', async () => {
  await put(observation('h1', 'Patient/p1', 'host'))
  const path = `/Observation?${query({ patient: 'Patient/p1', code: `${LOINC}|host` })}`
  const from = async (host: string): Promise<readonly string[]> => {
    const body = (await server.inject({ method: 'GET', url: path, headers: { host } })).json()
    return [body.link[0].url, ...body.entry.map(({ fullUrl }: { fullUrl: string }) => fullUrl)]
  }
  for (const host of ['one.example.org', 'two.example.org', 'one.example.org'])
    for (let n = 0; n < 4; n += 1) {
      const [self, fullUrl] = await from(host)
      assert.match(self as string, `http://${host}/Observation?`)
      assert.is(fullUrl, `http://${host}/Observation/h1`)
    }
})

test('a whole address means nothing to a server without an address of its own, whatever host is asked', async () => {
  const path = `/Observation?${query({ patient: 'http://one.example.org/Patient/p1', code: `${LOINC}|host` })}`
  for (const host of ['one.example.org', 'two.example.org'])
    for (let n = 0; n < 4; n += 1) {
      const answer = await server.inject({ method: 'GET', url: path, headers: { host } })
      assert.equal(idsOf(answer.json()), [])
    }
})

test('a page that is kept is the same text as one that is new, with its length, whether there are more or not', async () => {
  const ids = ['l1', 'l2', 'l3']
  const notes = { note: [{ text: 'größer als früher' }] }
  // Over a connection: the length of an injected request's answer is counted by the router.
  const base = await server.listen()
  await put(...ids.map((id) => observation(id, 'Patient/p3', 'länge', 'final', notes)))
  for (const count of [2, 3, 4]) {
    const path = `/Observation?${query({ patient: 'p3', code: `${LOINC}|länge`, _count: String(count) })}`
    const texts: string[] = []
    let asked = 0
    for (let n = 0; n < 6; n += 1) {
      const before = watch.asked
      const answer = await fetch(`${base}${path}`)
      const body = await answer.text()
      asked += watch.asked > before ? 1 : 0
      assert.is(Number(answer.headers.get('content-length')), Buffer.byteLength(body))
      const { id, meta } = JSON.parse(body)
      assert.match(meta.lastUpdated, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
      // These differ from answer to answer; the token of the next page holds the time.
      texts.push(
        body
          .replace(id, '')
          .replace(meta.lastUpdated, '')
          .replace(/_page=[^"]*/, '_page='),
      )
      assert.is(body.includes('"relation":"next"'), count < ids.length)
      assert.is(body.includes('"total":3'), count >= ids.length)
    }
    assert.ok(asked < 6, 'some were kept')
    assert.equal([...new Set(texts)].length, 1)
  }
})

test('a page is gone when its parameter means something else', async () => {
  await put(patient('s1', 'Retired'))
  const path = '/Patient?family=retired'
  for (let n = 0; n < 3; n += 1) assert.equal(idsOf(await short(path)), ['s1'])
  const definition = { name: 'family', description: 'Family', code: 'family', base: ['Patient'], type: 'string' }
  const url = 'http://hl7.org/fhir/SearchParameter/individual-family'
  const retired = { resourceType: 'SearchParameter', id: 'gone', url, status: 'retired', ...definition }
  await put(retired)
  const answer = await server.inject({ method: 'GET', url: path })
  assert.is(answer.statusCode, 400, answer.body)
})

test.run()
