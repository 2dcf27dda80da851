/** Events that are written together share a row, and nobody who asks for them can tell. */
// npm test: postgres, where transactions overlap
// memory: long reads have no thread of their own there
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { BATCH } from '../../../plugins/audit/batch.ts'
import { createKeyRing } from '../../../plugins/audit/chain/key.ts'
import { pruneTrail } from '../../../plugins/audit/trail/prune.ts'
import { verifyTrail } from '../../../plugins/audit/verify/walk.ts'
import { Database, type SqlParam, sql } from '../../../plugins/database/service.ts'
import { chosenKind } from '../../support/database-kinds.ts'
import type { TestServer } from '../../support/server-with.ts'
import { sharedByTests } from '../../support/shared-by-tests.ts'
import {
  type AuditEvent,
  audited,
  auditedPlugins,
  create,
  eventsOf,
  KEY,
  patientOf,
  send,
  verdictOf,
  verifiedHere,
} from './audited.ts'

let made = 0
const rows = async <R>(server: TestServer, text: string): Promise<readonly R[]> => {
  made += 1
  return server.get(Database).all<R>(sql(`test.packs-${made}`, text), [])
}
const change = (server: TestServer, text: string, params: readonly SqlParam[] = []): Promise<void> => {
  made += 1
  const statement = sql(`test.packs-${made}`, text)
  return server.get(Database).transact((transaction) => transaction.run(statement, params))
}

const REQUESTS = 40
const callers = [
  undefined,
  { kind: 'user', client: 'app', user: 'Practitioner/d1', scopes: [], tokenId: 'jti-1' },
  { kind: 'user', client: 'app', user: 'Patient/p1', scopes: [] },
  { kind: 'client', client: 'lab "2"', scopes: [] },
]

/** Reads, searches, refusals and admin reads of several callers, `together` or one after the other. */
const fill = async (together: boolean): Promise<{ readonly server: TestServer; readonly paths: readonly string[] }> => {
  const server = await audited({
    settings: { conformance: { update_as_create: true }, audit: { include_query: true } },
  })
  const subject = { reference: 'Patient/p1' }
  await send(server, 'PUT', '/Patient/p1', { resourceType: 'Patient', id: 'p1' })
  await send(server, 'PUT', '/Patient/p2', { resourceType: 'Patient', id: 'p2' })
  await send(server, 'PUT', '/Observation/o1', {
    resourceType: 'Observation',
    id: 'o1',
    status: 'final',
    code: { text: 'a' },
    subject,
  })
  const paths = [
    '/Patient/p1',
    '/Patient?_id=p1,p2',
    '/Observation/o1',
    '/Patient/none',
    '/metadata',
    '/nowhere/at/all',
  ]
  const ask = (n: number) => {
    const caller = callers[n % callers.length]
    return server.inject({
      url: paths[n % paths.length] as string,
      headers: { 'x-request-id': `r-${n}`, ...(caller && { 'x-caller': JSON.stringify(caller) }) },
      remoteAddress: `10.0.0.${n % 3}`,
    })
  }
  const all = Array.from({ length: REQUESTS }, (_, n) => n)
  if (together) await Promise.all(all.map(ask))
  else
    for (const n of all) {
      await ask(n)
      await server.inject('/_audit?_id=1') // which writes what waits
    }
  await server.inject('/_audit?_id=1')
  return { server, paths }
}

/** Tests share this server that take nothing away before they end; the last ones prune it and go on. */
const filledOnce = sharedByTests(
  () => fill(true),
  ({ server }) => server.stop(),
)

const packsIn = (server: TestServer) =>
  rows<{ seq: number; number: number; pack: Uint8Array }>(
    server,
    `SELECT seq, number, pack FROM audit_event WHERE kind = ${BATCH} ORDER BY seq`,
  )

/** Without what differs by when and where it happened. */
const told = ({ id: _id, recorded: _recorded, ...event }: AuditEvent): string => {
  const { source: _source, ...rest } = event as AuditEvent & { source: unknown }
  return JSON.stringify(rest).replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'an id')
}

const QUERIES = [
  '',
  'patient=p1',
  'patient=Patient/p2',
  'entity=Patient/p1',
  'entity=Patient/p1/_history/1',
  'entity=Observation/o1',
  'agent=app',
  'agent=lab "2"',
  'agent=Practitioner/d1',
  'agent=Practitioner/d1,Patient/p1',
  'action=R',
  'action=E',
  'action=U,D',
  'outcome=0',
  'outcome=4',
  'outcome=12',
  'subtype=read',
  'subtype=search-type,request',
  'address=10.0.0.1',
  'patient=p1&agent=app&action=R',
  'date=ge2020',
  'date=lt2020',
  'date=ne2020',
]

test('an event that shares its row says, and is found by, what one in a row of its own does', async () => {
  const single = await fill(false)
  const shared = await filledOnce()
  assert.equal((await packsIn(single.server)).length, 0)
  assert.ok((await packsIn(shared.server)).length > 0)
  for (const query of QUERIES) {
    const one = (await eventsOf(single.server, query)).map(told).sort()
    const other = (await eventsOf(shared.server, query)).map(told).sort()
    assert.equal(other, one, query)
    assert.is(one.length > 0, !['outcome=12', 'date=lt2020'].includes(query), query)
  }
  await single.server.stop()
})

test('pages of any size and single ids go through shared rows without losing or repeating an event', async () => {
  const { server } = await filledOnce()
  const all = (await eventsOf(server)).map(({ id }) => Number(id))
  assert.equal(
    all,
    all.toSorted((one, other) => one - other),
  )
  for (const count of [1, 7, 1000]) {
    const seen: number[] = []
    let url: string | undefined = `/_audit?subtype=read,search-type&_count=${count}`
    while (url !== undefined) {
      const bundle = (await server.inject(url)).json() as {
        entry?: { resource: AuditEvent }[]
        link: { relation: string; url: string }[]
      }
      seen.push(...(bundle.entry ?? []).map(({ resource }) => Number(resource.id)))
      const next = bundle.link.find(({ relation }) => relation === 'next')?.url
      url = next === undefined ? undefined : next.slice(next.indexOf('/_audit'))
    }
    const wanted = (await eventsOf(server, 'subtype=read,search-type')).map(({ id }) => Number(id)).reverse()
    assert.equal(seen, wanted, `pages of ${count}`)
  }
  const [{ seq, number } = { seq: 0, number: 0 }] = await packsIn(server)
  for (let id = Number(seq); id < Number(seq) + Number(number); id += 1)
    assert.equal(
      (await eventsOf(server, `_id=${id}`)).map((event) => event.id),
      [String(id)],
    )
})

test('verification counts events, and names the first of a shared row that is not what was written', async () => {
  const { server } = await fill(true)
  const before = await verdictOf(server)
  assert.is(before.ok, true)
  assert.is(before.checked, before.head.seq)
  const [{ seq, number, pack } = { seq: 0, number: 0, pack: Buffer.alloc(0) }] = await packsIn(server)
  const first = Number(seq)
  const put = (column: string, value: SqlParam) =>
    change(server, `UPDATE audit_event SET ${column} = ? WHERE seq = ?`, [value, seq])
  // Without a request, whose verification has a thread of its own on a SQLite file.
  const verify = () => verifyTrail(server.get(Database), { key: KEY, previousKeys: [] })
  const flipped = Buffer.from(pack)
  flipped[20] = (flipped[20] as number) ^ 1
  for (const [column, value, was] of [
    ['pack', flipped, Buffer.from(pack)],
    ['pack', null, Buffer.from(pack)],
    ['number', Number(number) - 1, number],
    ['number', Number(number) + 1, number],
    ['kind', 0, BATCH],
    ['at', 5, undefined],
  ] as const) {
    const [kept] = await rows<Record<string, SqlParam>>(server, `SELECT ${column} FROM audit_event WHERE seq = ${seq}`)
    await put(column, value as SqlParam)
    const { ok, broken } = await verify()
    assert.is(ok, false, column)
    assert.is(broken?.seq, first, `${column} → ${String(value).slice(0, 20)}`)
    await put(column, (was ?? kept?.[column]) as SqlParam)
    assert.is((await verify()).ok, true, `${column} put back`)
  }
  const inside = await verdictOf(server, `?seq=${first}&mac=${before.head.mac}`)
  assert.equal(inside.broken, { seq: first, kind: 'checkpoint' })
  await change(server, 'DELETE FROM audit_event WHERE seq = ?', [seq])
  assert.equal((await verdictOf(server)).broken, { seq: first, kind: 'missing' })
  await server.stop()
})

test('shared rows are pruned with their events counted, and what follows is verified', async () => {
  const { server } = await filledOnce()
  await send(server, 'PUT', '/Patient/p1', { resourceType: 'Patient', id: 'p1', active: true })
  const log = { error() {}, info() {}, warn() {} } as never
  const clock = { now: () => Date.now() + 3 * 86_400_000, monotonic: () => 0, deadline: AbortSignal.timeout }
  const trail = { append() {}, write: async () => undefined, flush: async () => undefined }
  const { head } = await verifiedHere(server)
  const [{ n } = { n: 0 }] = await rows<{ n: number }>(
    server,
    `SELECT count(*) AS n FROM audit_event WHERE seq <= ${head.seq}`,
  )
  assert.ok(Number(n) < head.seq)
  const keys = createKeyRing(KEY, [])
  const gone = await pruneTrail({ database: server.get(Database), keys, trail, days: 1, clock, log })
  const after = await verifiedHere(server)
  assert.is(after.ok, true)
  assert.is(after.pruned?.count, gone)
  assert.is(after.pruned?.seq, gone)
  assert.ok(gone >= head.seq - 1)
})

test('servers that write by turns, many events or one, go on where the other one ended', async () => {
  if (chosenKind.name !== 'postgres') return
  const { settings, remove } = await chosenKind.fresh(auditedPlugins)
  const servers = await Promise.all([audited({ settings, together: true }), audited({ settings, together: true })])
  const [one, other] = servers
  const id = await create(one, { resourceType: 'Patient' })
  const read = (server: TestServer, count: number) =>
    Promise.all(Array.from({ length: count }, () => server.inject(`/Patient/${id}`)))
  for (let turn = 0; turn < 4; turn += 1) {
    await read(one, 30)
    await one.inject('/_audit?_id=1')
    // What this one remembers of the head is old by as many events as share a row.
    await create(other, { resourceType: 'Patient' })
    await read(other, 1)
    await other.inject('/_audit?_id=1')
    await create(one, { resourceType: 'Patient' })
    await read(other, 30)
    await other.inject('/_audit?_id=1')
  }
  for (const server of servers) {
    const verdict = await verifiedHere(server)
    assert.is(verdict.ok, true, JSON.stringify(verdict))
  }
  assert.is((await eventsOf(one, 'subtype=create')).length, 9)
  assert.is((await eventsOf(one, 'subtype=read')).length, 4 * 61)
  for (const server of servers) await server.stop()
  await remove()
})

test('changes that share a COMMIT share a row of the trail, and each has its event', async () => {
  const server = await audited()
  const entry = Array.from({ length: 20 }, () => ({
    resource: { resourceType: 'Patient' },
    request: { method: 'POST', url: 'Patient' },
  }))
  // Nobody has asked for anything yet, whose event might come into the same commit.
  assert.equal(await packsIn(server), [])
  const answer = await send(server, 'POST', '/', { resourceType: 'Bundle', type: 'transaction', entry })
  assert.is(answer.statusCode, 200, answer.body)
  const packs = await packsIn(server)
  assert.is(packs.length, 1)
  assert.is(packs[0]?.number, entry.length + 1, 'the transaction has one of its own')
  const { entry: answered } = answer.json() as { entry: { response: { location: string } }[] }
  for (const { response } of answered) {
    const [, id] = /Patient\/([^/]+)\/_history/.exec(response.location) ?? []
    const [event, ...more] = await eventsOf(server, `entity=Patient/${id}&subtype=create`)
    assert.is(more.length, 0)
    assert.is(patientOf(event as AuditEvent), `Patient/${id}`)
  }
  assert.is((await verifiedHere(server)).ok, true)
  const [pack] = packs
  const changed = Buffer.from(pack?.pack as Uint8Array)
  changed[changed.length >> 1] = (changed[changed.length >> 1] as number) ^ 1
  await change(server, 'UPDATE audit_event SET pack = ? WHERE seq = ?', [changed, pack?.seq as number])
  const { ok, broken } = await verifiedHere(server)
  assert.is(ok, false)
  assert.is(broken?.seq, pack?.seq)
  await server.stop()
})

test('a patient found by many searches at once has an event of each', async () => {
  const { server } = await filledOnce()
  const ids = await Promise.all(Array.from({ length: 5 }, () => create(server, { resourceType: 'Patient' })))
  await Promise.all(Array.from({ length: 20 }, () => server.inject('/Patient')))
  for (const id of ids) assert.is((await eventsOf(server, `patient=${id}&subtype=search-type`)).length, 20)
  assert.is((await verifiedHere(server)).ok, true)
})

test.run()
