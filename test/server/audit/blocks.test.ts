/** Searches over a trail of several blocks say what looking at every event says, whatever happens to the blocks. */
// npm test: postgres, on which it has a test more
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { Clock } from '../../../kernel/index.ts'
import { lastSeqOf } from '../../../plugins/audit/batch.ts'
import { BLOCK_ROWS } from '../../../plugins/audit/blocks/block.ts'
import type { Row } from '../../../plugins/audit/tables.ts'
import { Database, sql } from '../../../plugins/database/service.ts'
import { chosenKind } from '../../support/database-kinds.ts'
import { createManualClock, type ManualClock } from '../../support/manual-clock.ts'
import type { TestServer } from '../../support/server-with.ts'
import { sharedByTests } from '../../support/shared-by-tests.ts'
import { until } from '../../support/until.ts'
import { type AuditEvent, audited, auditedPlugins, create, eventsOf, patientOf, send, verifiedHere } from './audited.ts'

const EVENTS = 3_150 // in more than three blocks
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const START = Date.UTC(2026, 0, 15, 12)
const ROUNDS = 50 // an hour passes after each
const SESSIONS = 2 // each thread that reads a SQLite file takes as much to start as some searches
const CLIENTS = ['app', 'portal', 'lab']
const USERS = ['Practitioner/d1', 'Practitioner/d2', 'Patient/p1']

const firsts = sql('test.firsts', 'SELECT first_seq FROM audit_block ORDER BY first_seq')
const loseBlocks = sql('test.lose', 'DELETE FROM audit_block WHERE first_seq > ?')
const readSpans = sql('test.spans', 'SELECT seq, kind, number FROM audit_event ORDER BY seq')

type Span = Pick<Row, 'seq' | 'kind' | 'number'>

const blocksOf = async (server: TestServer): Promise<readonly number[]> =>
  (await server.get(Database).all<{ first_seq: number }>(firsts, [])).map(({ first_seq }) => Number(first_seq))

const lastOf = async (server: TestServer): Promise<number> =>
  lastSeqOf((await server.get(Database).all<Span>(readSpans, [])).at(-1) as Span)

const complete = (least: number, upto: number): readonly number[] => {
  const found: number[] = []
  for (let first = least; first + BLOCK_ROWS - 1 <= upto; first += BLOCK_ROWS) found.push(first)
  return found
}

/** In one batch, of which each entry has an event of its own, and the batch one more. */
const readAll = async (server: TestServer, urls: readonly string[], headers: Record<string, string> = {}) => {
  const entry = urls.map((url) => ({ request: { method: 'GET', url } }))
  const answer = await server.inject({
    method: 'POST',
    url: '/',
    headers: { 'content-type': 'application/fhir+json', ...headers },
    payload: JSON.stringify({ resourceType: 'Bundle', type: 'batch', entry }),
  })
  assert.is(answer.statusCode, 200, answer.body)
}

/** The trail of some hours: many clients and patients, one that is seen seldom, and refusals. */
const fill = async (server: TestServer, clock: ManualClock, events: number): Promise<readonly string[]> => {
  const paths: string[] = []
  for (let n = 0; n < 20; n += 1) {
    await send(server, 'PUT', `/Patient/p${n}`, { resourceType: 'Patient', id: `p${n}` })
    const subject = { reference: `Patient/p${n}` }
    const code = { text: 'a' }
    paths.push(`Observation/${await create(server, { resourceType: 'Observation', status: 'final', code, subject })}`)
    paths.push(`Patient/${await create(server, { resourceType: 'Patient' })}`)
  }
  await send(server, 'PUT', '/Patient/seldom', { resourceType: 'Patient', id: 'seldom' })
  let chance = 1
  const pick = <T>(list: readonly T[]): T => {
    chance = (Math.imul(chance, 1_103_515_245) + 12_345) & 0x7fffffff
    return list[(chance >>> 8) % list.length] as T
  }
  const entries = events / ROUNDS / CLIENTS.length - 1
  for (let round = 0; round < ROUNDS; round += 1) {
    const asked = CLIENTS.map((client, at) => {
      const urls = Array.from({ length: entries }, (_, n) =>
        round === 20 && at === 1 && n === 7 ? 'Patient/seldom' : n === 19 ? 'Patient/none' : pick(paths),
      )
      const caller = { kind: 'user', client, user: USERS[(round + at) % USERS.length], scopes: [] }
      return readAll(server, urls, { 'x-caller': JSON.stringify(caller) })
    })
    await Promise.all(asked)
    await server.inject('/_audit?_id=1') // which writes what waits
    clock.set(START + (round + 1) * HOUR_MS)
  }
  const [patient] = paths.filter((path) => path.startsWith('Patient/'))
  await server.inject({ method: 'DELETE', url: `/${patient}` })
  await server.inject('/_audit?_id=1')
  return paths
}

type Holds = (event: AuditEvent) => boolean
const dataOf = ({ entity = [] }: AuditEvent): string =>
  (entity.find(({ role }) => role?.code === '4')?.what?.reference ?? '').replace(/\/_history\/.*/, '')
const clientOf = ({ agent }: AuditEvent): string | undefined =>
  agent.map(({ who }) => who?.identifier?.value).find((value) => value !== undefined)
const userOf = ({ agent }: AuditEvent): string | undefined =>
  agent.map(({ who }) => who?.reference).find((reference) => reference !== undefined)
const atOf = ({ recorded }: AuditEvent): number => Date.parse(recorded)

/** A search, and what an event it finds is like. */
const searches = (paths: readonly string[]): readonly (readonly [string, Holds])[] => {
  const [observation = ''] = paths.filter((path) => path.startsWith('Observation/'))
  const [patient = ''] = paths.filter((path) => path.startsWith('Patient/')).slice(3)
  const fifth = START + 5 * HOUR_MS
  const tenth = START + 10 * HOUR_MS
  const iso = (time: number): string => new Date(time).toISOString()
  return [
    ['patient=Patient/seldom', (event) => patientOf(event) === 'Patient/seldom'],
    ['patient=p3', (event) => patientOf(event) === 'Patient/p3'],
    ['patient=p3,seldom', (event) => ['Patient/p3', 'Patient/seldom'].includes(patientOf(event))],
    ['patient=nobody', () => false],
    [`entity=${observation}`, (event) => dataOf(event) === observation],
    [`entity=${patient}`, (event) => dataOf(event) === patient || patientOf(event) === patient],
    ['entity=Patient/seldom', (event) => patientOf(event) === 'Patient/seldom'],
    ['agent=portal', (event) => clientOf(event) === 'portal'],
    ['agent=Practitioner/d2', (event) => userOf(event) === 'Practitioner/d2'],
    ['agent=portal&agent=Practitioner/d2', (e) => clientOf(e) === 'portal' && userOf(e) === 'Practitioner/d2'],
    [`date=ge${iso(fifth)}&date=lt${iso(tenth)}`, (event) => atOf(event) >= fifth && atOf(event) < tenth],
    ['date=2026-01-16', (event) => event.recorded.startsWith('2026-01-16')],
    ['date=2020,2026-01-17', (event) => event.recorded.startsWith('2026-01-17')],
    ['date=2020', () => false],
    [`date=ne${iso(fifth)}`, (event) => atOf(event) !== fifth],
    ['action=C', ({ action }) => action === 'C'],
    ['action=D', ({ action }) => action === 'D'],
    ['outcome=4', ({ outcome }) => outcome === '4'],
    ['subtype=read&patient=p1,p2', (event) => /^Patient\/p[12]$/.test(patientOf(event)) && event.action === 'R'],
    ['_id=2000', ({ id }) => id === '2000'],
    ['_id=3,3000,999999', ({ id }) => id === '3' || id === '3000'],
    [`date=lt${iso(fifth)}&agent=lab&outcome=4`, (e) => atOf(e) < fifth && clientOf(e) === 'lab' && e.outcome === '4'],
  ]
}

const idsOf = (events: readonly AuditEvent[]): readonly string[] => events.map(({ id }) => id)
/** Returns the ids as `idsOf` of `eventsOf` does, without parsing each event. The id comes first in each line. */
const idsFound = async (server: TestServer, query: string): Promise<readonly string[]> => {
  const { statusCode, body } = await server.inject(`/_audit?_format=ndjson&${query}`)
  assert.is(statusCode, 200, body)
  return body
    .split('\n')
    .filter((line) => line !== '' && !line.includes('"code":"_audit'))
    .map((line) => /"id":"(\d+)"/.exec(line)?.[1] as string)
    .reverse()
}

/** Everything there is, looked at one by one; each search has to say the same. */
const checkSearches = async (server: TestServer, paths: readonly string[], note: string): Promise<void> => {
  const rows = await server.get(Database).all<Span>(readSpans, [])
  const all = await eventsOf(server)
  assert.ok(all.length > 2 * BLOCK_ROWS, note)
  for (const [at, row] of rows.entries()) if (at > 0) assert.is(row.seq, lastSeqOf(rows[at - 1] as Span) + 1, note)
  for (const [query, holds] of searches(paths)) {
    const found = await idsFound(server, query)
    const wanted = all.filter(holds)
    assert.equal(found, idsOf(wanted), `${note}: ${query}`)
    if (!query.includes('nobody') && query !== 'date=2020' && note === '') assert.ok(wanted.length > 0, query)
  }
}

interface Page {
  readonly entry?: readonly { readonly resource: AuditEvent }[]
  readonly link: readonly { readonly relation: string; readonly url: string }[]
}
const pageOf = async (server: TestServer, url: string) => {
  const answer = await server.inject(url)
  assert.is(answer.statusCode, 200, answer.body)
  const { entry = [], link } = answer.json() as Page
  const next = link.find(({ relation }) => relation === 'next')?.url
  return { ids: entry.map(({ resource }) => resource.id), next: next?.slice(next.indexOf('/_audit')) }
}

const filledServer = async (events: number, settings: Record<string, unknown> = {}) => {
  const clock = createManualClock(START)
  const all = { conformance: { update_as_create: true }, cluster: { db_pool: SESSIONS }, ...settings }
  const server = await audited({ clock, settings: all })
  const paths = await fill(server, clock, events)
  return { server, clock, paths, all }
}

/** Tests share this server that take nothing away for good; the last one prunes it. */
const filledOnce = sharedByTests(
  async () => {
    const fresh = await chosenKind.fresh(auditedPlugins)
    return { fresh, ...(await filledServer(EVENTS, fresh.settings)) }
  },
  async ({ server, fresh }) => {
    await server.stop()
    await fresh.remove()
  },
)

test('a search over several blocks finds what looking at every event finds', async () => {
  const { server, paths } = await filledOnce()
  await checkSearches(server, paths, '')
  const { head } = await verifiedHere(server)
  const blocks = complete(1, head.seq)
  assert.ok(blocks.length >= 3, 'several blocks')
  assert.equal(await blocksOf(server), blocks)
})

test('pages hold still while events are added, and hold each event once', async () => {
  const { server } = await filledOnce()
  const query = '/_audit?patient=p1,p2,p3&_count=20'
  const wanted = idsOf(await eventsOf(server, 'patient=p1,p2,p3')).toReversed()
  const seen: string[] = []
  for (let url: string | undefined = query; url !== undefined; ) {
    const { ids, next }: { ids: string[]; next: string | undefined } = await pageOf(server, url)
    seen.push(...ids)
    for (const id of ['p1', 'p2', 'p9']) await server.inject(`/Patient/${id}`)
    url = next
  }
  assert.equal(seen, wanted)
  assert.ok(seen.length > 100)
  assert.is((await server.inject('/_audit?_page=12.34')).statusCode, 400)
})

test('a block that is lost takes no event from an answer, and is made again within the hour', async () => {
  const { server, clock, paths } = await filledOnce()
  const before = await blocksOf(server)
  await server.get(Database).transact((transaction) => transaction.run(loseBlocks, [1]))
  assert.equal(await blocksOf(server), [1])
  await checkSearches(server, paths, 'lost')
  await clock.leap(HOUR_MS)
  await until(async () => (await blocksOf(server)).length >= before.length, 5_000, 'the lost blocks')
  await checkSearches(server, paths, 'made again')
})

test('after a restart and after pruning searches say the same of what is there, and blocks go with their events', async () => {
  if (chosenKind.name === 'memory') return
  const { server, clock: before, paths, all } = await filledOnce()
  const { head } = await verifiedHere(server)
  await server.get(Database).transact((transaction) => transaction.run(loseBlocks, [BLOCK_ROWS]))
  await server.stop()

  const again = await audited({ clock: createManualClock(before.now()), settings: all })
  await until(async () => (await blocksOf(again)).length >= complete(1, head.seq).length, 5_000, 'the lost blocks')
  await checkSearches(again, paths, 'restarted')
  // A block that began before the restart ends after it.
  await readAll(again, Array<string>(BLOCK_ROWS).fill('Patient/p1'))
  await again.stop()

  const clock = createManualClock(START + DAY_MS + 20.5 * HOUR_MS)
  const audit = { retention_days: 1 }
  const pruned = await audited({ clock, settings: { ...all, audit } })
  await until(async () => (await eventsOf(pruned, 'subtype=prune')).length === 1, 5_000, 'pruning')
  await checkSearches(pruned, paths, 'pruned')
  const verdict = await verifiedHere(pruned)
  assert.is(verdict.ok, true)
  const upto = verdict.pruned?.seq ?? 0
  assert.ok(upto > BLOCK_ROWS && upto < 2 * BLOCK_ROWS, `pruned ${upto}`)
  const kept = complete(1, verdict.head.seq).filter((first) => first + BLOCK_ROWS - 1 > upto)
  await until(async () => (await blocksOf(pruned)).length === kept.length, 5_000, 'the blocks')
  assert.equal(await blocksOf(pruned), kept)
  await pruned.stop()
})

test('servers that write by turns to one database make the blocks that neither could make alone', async () => {
  if (chosenKind.name !== 'postgres') return
  const fresh = await chosenKind.fresh(auditedPlugins)
  const clocks = [createManualClock(START), createManualClock(START)]
  const servers = await Promise.all(clocks.map((clock) => audited({ clock, settings: fresh.settings, together: true })))
  const [first, second] = servers as [TestServer, TestServer]
  const patient = `Patient/${await create(first, { resourceType: 'Patient' })}`
  for (let seq = 0; seq <= 2 * BLOCK_ROWS; seq = await lastOf(first)) {
    for (const server of servers) {
      await readAll(server, Array<string>(99).fill(patient))
      await server.inject('/_audit?_id=1')
    }
  }
  for (const clock of clocks) await clock.advance(1_000)
  await until(async () => (await blocksOf(first)).length === 2, 5_000, 'the blocks of both')
  assert.equal(await blocksOf(first), [1, BLOCK_ROWS + 1])
  const query = `entity=${patient}`
  assert.equal(idsOf(await eventsOf(first, query)), idsOf(await eventsOf(second, query)))
  assert.is((await verifiedHere(second)).ok, true)
  await Promise.all(servers.map((server) => server.stop()))
  await fresh.remove()
})

test('a search that takes too long is refused with what to do, and one line by line is not', async () => {
  const hasty: Clock = {
    ...createManualClock(START),
    deadline: (ms) => (ms === 10_000 ? AbortSignal.abort() : new AbortController().signal),
  }
  const server = await audited({ clock: hasty })
  await create(server, { resourceType: 'Patient' })
  const answer = await server.inject('/_audit?outcome=8')
  assert.is(answer.statusCode, 400, answer.body)
  assert.is(answer.json().issue[0].code, 'too-costly')
  assert.match(answer.json().issue[0].diagnostics ?? answer.json().issue[0].details.text, /Narrow it with date/)
  assert.is((await eventsOf(server, 'action=C')).length, 1)
  await server.stop()
})

test.run()
