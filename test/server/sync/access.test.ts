/** Who is shown what by live queries: rulings, their changes, tokens, limits, the audit trail, and POST /sync. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type AuditFact, defineError, definePlugin, type Restriction } from '../../../kernel/index.ts'
import limits from '../../../plugins/limits/index.ts'
import sync from '../../../plugins/sync/index.ts'
import { createManualClock, type ManualClock } from '../../support/manual-clock.ts'
import { inCompartment, onlyTypes } from '../../support/restrictions.ts'
import { openSync, type SyncClient } from '../../support/sync-client.ts'
import { until } from '../../support/until.ts'
import { refusedWith } from '../sessions/callers.ts'
import { type Clinic, clinicWith } from '../writes/clinic.ts'

const Unknown = defineError('test/unknown', 401, 'login', 'Who?')

/** Tokens are names of clients; what they may see and whether they count is the test's. */
const world = () => {
  const restrictions = new Map<string, Restriction>()
  const revoked = new Set<string>()
  const expires = new Map<string, number>()
  const facts: AuditFact[] = []
  const state = { isAuditBroken: false }
  const plugin = definePlugin({
    name: 'world',
    setup({ hooks }) {
      hooks.authenticate.tap('by name', ({ headers: { authorization } }) => {
        if (authorization === undefined) return undefined
        const [client = '', turn = ''] = authorization.slice('Bearer '.length).split('.')
        if (revoked.has(authorization) || client === 'unknown') throw Unknown()
        const expiresAt = expires.get(turn)
        return { kind: 'client', client, tokenId: turn, ...(expiresAt === undefined ? {} : { expiresAt }) }
      })
      hooks.admit.tap('token', (request) =>
        request.caller.kind === 'anonymous' && !request.awaitToken() ? Unknown() : undefined,
      )
      hooks.authorize.tap('restrict', ({ caller }, _interaction, ruling) => {
        const one = restrictions.get(caller.client ?? '')
        if (one !== undefined) ruling.restrict(one)
      })
      hooks.onAudit.tap('keep', (fact) => {
        if (state.isAuditBroken && fact.interaction.kind === 'search-type') throw new Error('the trail is full')
        facts.push(fact)
      })
    },
  })
  return { plugin, restrictions, revoked, expires, facts, state }
}

let clinic: Clinic
let address: string
let clock: ManualClock
let given: ReturnType<typeof world>
let clients: SyncClient[] = []
test.before(async () => {
  clock = createManualClock()
  given = world()
  const settings = {
    server: { bind: '127.0.0.1:0' },
    rate_limit: {
      max_sync_connections: 2,
      max_live_queries: 3,
      requests_per_second: 10_000,
      burst: 10_000,
      servers: 1,
    },
  }
  clinic = await clinicWith(settings, [limits, given.plugin, sync], { clock })
  address = await clinic.server.listen()
})
test.after(() => clinic.stop())
test.before.each(() => {
  given.restrictions.clear()
  given.revoked.clear()
  given.expires.clear()
  given.facts.length = 0
})
test.after.each(async () => {
  for (const one of clients) {
    assert.equal(one.faults, [])
    if (one.closed === undefined) await one.close()
  }
  clients = []
  await new Promise(setImmediate)
})

const ADMIN = { headers: { authorization: 'Bearer admin' } }
const as = async (token: string | undefined): Promise<SyncClient> => {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const client = await openSync(address, { headers })
  clients.push(client)
  return client
}
const write = (resource: { resourceType: string; id: string; [name: string]: unknown }) =>
  clinic.ask('PUT', `/${resource.resourceType}/${resource.id}`, resource, ADMIN)
const observation = (id: string, patient: string, more: object = {}) => ({
  resourceType: 'Observation',
  id,
  status: 'final',
  code: { text: 'x' },
  subject: { reference: `Patient/${patient}` },
  ...more,
})
const deltas = (client: SyncClient): readonly string[] =>
  client.messages.filter(({ op }) => op === 'delta').map(({ kind, reference }) => `${kind} ${reference}`)
const closedWith = async (client: SyncClient): Promise<number> => {
  await until(() => client.closed !== undefined, 5_000, 'the close')
  return client.closed?.code as number
}

test('a restricted caller sees its part; what leaves the part is a leave without content', async () => {
  given.restrictions.set('app', inCompartment('Patient', 'a'))
  await write({ resourceType: 'Patient', id: 'a' })
  await write({ resourceType: 'Patient', id: 'b' })
  await write(observation('seen', 'a'))
  await write(observation('hidden', 'b'))
  const client = await as('app')
  await client.subscribe('o', 'Observation')
  assert.equal([...client.sets.get('o')!.keys()], ['Observation/seen'])
  await write(observation('hidden', 'b', { status: 'amended' }))
  await write(observation('seen', 'b'))
  await write(observation('seen', 'b', { status: 'amended' }))
  await write(observation('late', 'a'))
  await client.next(({ reference }) => reference === 'Observation/late')
  assert.equal(deltas(client), ['leave Observation/seen', 'enter Observation/late'])
  given.restrictions.set('app', onlyTypes('Patient'))
  const refused = await client.subscribe('n', 'Observation')
  assert.equal([refused.op, refused.outcome.issue[0].code], ['error', 'forbidden'])
})

test('a ruling that has changed is reset: access within 30 seconds, and nothing is sent under the old one after that', async () => {
  given.restrictions.set('app', inCompartment('Patient', 'a'))
  const client = await as('app')
  await client.subscribe('p', 'Patient')
  await client.subscribe('o', 'Observation?status=final')
  given.restrictions.set('app', inCompartment('Patient', 'b'))
  await clock.advance(31_000)
  await client.next(({ op, id, reason }) => op === 'reset' && id === 'p' && reason === 'access')
  await client.next(({ op, id, reason }) => op === 'reset' && id === 'o' && reason === 'access')
  await write({ resourceType: 'Patient', id: 'a', active: true })
  await client.subscribe('p', 'Patient')
  assert.equal([deltas(client), [...client.sets.get('p')!.keys()]], [[], ['Patient/b']])
})

test('a token that is revoked ends the connection within 60 seconds', async () => {
  const client = await as('app')
  await client.subscribe('p', 'Patient')
  given.revoked.add('Bearer app')
  await clock.advance(60_000)
  assert.is(await closedWith(client), 4401)
})

test('the token may come in the first message, within 5 seconds, and nothing is answered before', async () => {
  const client = await as(undefined)
  assert.is((await client.next(({ op }) => op === 'welcome')).needsToken, true)
  client.send({ op: 'auth', token: 'app' })
  assert.equal(await client.next(({ op, needsToken }) => op === 'welcome' && !needsToken), {
    op: 'welcome',
    needsToken: false,
  })
  assert.is((await client.subscribe('p', 'Patient')).op, 'ready')
  const early = await as(undefined)
  early.send({ op: 'subscribe', id: 'p', query: 'Patient' })
  assert.is(await closedWith(early), 4401)
  const wrong = await as(undefined)
  wrong.send({ op: 'auth', token: 'unknown' })
  assert.is(await closedWith(wrong), 4401)
  const silent = await as(undefined)
  await clock.advance(4_000)
  assert.is(silent.closed, undefined)
  await clock.advance(2_000)
  assert.is(await closedWith(silent), 4401)
  assert.equal(
    [early, wrong, silent].flatMap(({ messages }) => messages.filter(({ op }) => op === 'page')),
    [],
  )
})

test('a token ends at its second; one of the same caller goes on, one of another does not', async () => {
  given.expires.set('1', clock.now() + 90_000)
  given.expires.set('2', clock.now() + 900_000)
  const [client, other] = [await as('app.1'), await as('app.1')]
  assert.is((await client.next(({ op }) => op === 'welcome')).expires, new Date(clock.now() + 90_000).toISOString())
  await client.subscribe('p', 'Patient')
  await clock.advance(31_000)
  await client.next(({ op }) => op === 'reauthenticate')
  client.send({ op: 'auth', token: 'app.2' })
  await client.next(
    ({ op, expires }) => op === 'welcome' && expires === new Date(given.expires.get('2')!).toISOString(),
  )
  await clock.advance(60_000)
  assert.is(await closedWith(other), 4401)
  await write({ resourceType: 'Patient', id: 'later' })
  await client.next(({ reference }) => reference === 'Patient/later')
  client.send({ op: 'auth', token: 'somebody.2' })
  assert.is(await closedWith(client), 4401)
})

test('a third connection and a fourth query are refused, and the others live on', async () => {
  const [one] = [await as('app'), await as('app')]
  assert.match(await refusedWith(() => as('app')), /429/)
  for (const id of ['1', '2', '3']) assert.is((await one.subscribe(id, `Patient?_id=${id}`)).op, 'ready')
  const fourth = await one.subscribe('4', 'Patient')
  assert.equal([fourth.op, fourth.id, fourth.outcome.issue[0].code], ['error', '4', 'throttled'])
  one.send({ op: 'unsubscribe', id: '3' })
  assert.is((await one.subscribe('4', 'Patient?_id=third')).op, 'ready')
  await write({ resourceType: 'Patient', id: 'third' })
  await one.next(({ reference }) => reference === 'Patient/third')
})

test('the trail has each subscription with the patients shown, and deltas once for each patient in ten seconds', async () => {
  await write({ resourceType: 'Patient', id: 'a' })
  await write(observation('audited', 'a'))
  const client = await as('app')
  given.facts.length = 0
  await client.subscribe('o', 'Observation?subject=Patient/a')
  const told = () =>
    given.facts
      .filter(({ interaction: { kind } }) => kind === 'search-type')
      .map(({ request, details }) => [request.caller.client, details?.patients?.(), details?.query?.()])
  const query = 'subject=Patient/a'
  assert.equal(told().at(-1), ['app', ['Patient/a'], query])
  given.facts.length = 0
  await write(observation('audited', 'a', { status: 'amended' }))
  await write(observation('audited', 'a', { status: 'final' }))
  await client.next(({ version, op }) => op === 'delta' && version >= 3)
  assert.equal(told(), [['app', ['Patient/a'], query]])
  await clock.advance(11_000)
  await write(observation('audited', 'a', { status: 'amended' }))
  await until(() => told().length === 2, 5_000, 'the second event')
  await clock.advance(11_000)
  given.state.isAuditBroken = true
  const before = deltas(client).length
  await write(observation('audited', 'a', { status: 'final' }))
  assert.is(await closedWith(client), 1011)
  given.state.isAuditBroken = false
  assert.is(deltas(client).length, before, 'what cannot be recorded is not shown')
})

const events = async (answer: Response, isLast: (message: Record<string, any>) => boolean) => {
  const found: Record<string, any>[] = []
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  for (;;) {
    const { value, done } = await reader.read()
    if (done) return { found, reader }
    text += value
    const parts = text.split('\n\n')
    text = parts.pop() as string
    for (const part of parts) if (part.startsWith('data: ')) found.push(JSON.parse(part.slice('data: '.length)))
    if (found.some(isLast)) return { found, reader }
  }
}
const postQueries = (body: unknown, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${address}/sync`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'text/event-stream',
      authorization: 'Bearer app',
      ...headers,
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })

test('POST /sync gives the same messages as events', async () => {
  for (let at = 0; at < 60; at += 1) await write({ resourceType: 'Organization', id: `sse${at}`, name: 'sse' })
  const answer = await postQueries({
    queries: [
      { id: 'a', query: 'Organization?name=sse' },
      { id: 'b', query: 'Patient?_count=2' },
    ],
  })
  assert.equal([answer.status, answer.headers.get('content-type')], [200, 'text/event-stream'])
  const { found, reader } = await events(answer, ({ op, id }) => op === 'error' && id === 'b')
  assert.equal(
    found.map(({ op, id, resources }) => [op, id, resources?.length]),
    [
      ['welcome', undefined, undefined],
      ['page', 'a', 50],
      ['page', 'a', 10],
      ['ready', 'a', undefined],
      ['error', 'b', undefined],
    ],
  )
  await write({ resourceType: 'Organization', id: 'sse-late', name: 'sse' })
  const { value } = await reader.read()
  assert.match(String(value), /^data: .*"kind":"enter","reference":"Organization\/sse-late"/)
  await reader.cancel()
  await until(async () => (await postQueries('{')).status === 400, 5_000, 'a place for another connection')
})

test('POST /sync refuses what it does not understand, and callers without a token', async () => {
  const one = { queries: [{ id: 'a', query: 'Patient' }] }
  assert.is((await postQueries('{')).status, 400)
  assert.is((await postQueries({ queries: [] })).status, 400)
  assert.is((await postQueries({ queries: [...one.queries, ...one.queries] })).status, 400)
  assert.is((await postQueries(one, { accept: 'application/json' })).status, 406)
  assert.is((await postQueries(one, { 'content-type': 'text/plain' })).status, 415)
  assert.is((await postQueries(one, { authorization: 'Bearer unknown' })).status, 401)
  assert.is((await clinic.ask('POST', '/sync', one)).status, 401)
  assert.is((await fetch(`${address}/sync`, { headers: { authorization: 'Bearer app' } })).status, 426)
})

test.run()
