/** What verification says when somebody changed the trail: where, and what kind of damage it is. */
// npm test: sqlite and postgres, each with cases of its own
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { verifyTrail } from '../../../plugins/audit/verify/walk.ts'
import { Database, type SqlParam } from '../../../plugins/database/service.ts'
import { chosenKind } from '../../support/database-kinds.ts'
import type { TestServer } from '../../support/server-with.ts'
import { create, eventsOf, KEY, verdictOf, verifiedHere } from './audited.ts'

import { change, EVENTS, filled, GIVEN, onBroken, onOne, openLeft, rows } from './changed-trail.ts'

/** Tests that put back what they change share these two. */
let running: TestServer
let left: Awaited<ReturnType<typeof openLeft>>
test.before(async () => {
  running = await filled()
  left = await openLeft()
})
test.after(async () => {
  await running.stop()
  await left.close()
})

test('nothing is broken where nobody changed anything, and every event was checked', async () => {
  const verdict = await verdictOf(running)
  assert.is(verdict.ok, true)
  assert.is(verdict.keyed, true)
  assert.is(verdict.broken, undefined)
  assert.is(verdict.checked, verdict.head.seq)
  assert.match(verdict.head.mac, /^[0-9a-f]{64}$/)
})

test('a change in any column of an event is found at that event', async () => {
  const { server } = left
  const isPostgres = chosenKind.name === 'postgres'
  const bytes = (hex: string): string => (isPostgres ? `'\\x${hex}'::bytea` : `x'${hex}'`)
  const BYTES = ['id', 'patient', 'request', 'proof']
  const NUMBERS = ['ver', 'number']
  const other = (column: string, value: unknown): string => {
    if (value === null) return NUMBERS.includes(column) ? '1' : BYTES.includes(column) ? bytes('01') : "'x'"
    if (typeof value === 'number') return `${value} + 1`
    if (typeof value === 'string') return `'${value.slice(0, -1)}~'`
    const flipped = Buffer.from(value as Buffer)
    flipped[3] = (flipped[3] as number) ^ 1
    return bytes(flipped.toString('hex'))
  }
  const [row] = await rows<Record<string, unknown>>(server, 'SELECT * FROM audit_event WHERE seq = 7')
  for (const [column, value] of Object.entries(row ?? {})) {
    if (column === 'seq') continue
    await change(server, `UPDATE audit_event SET ${column} = ${other(column, value)} WHERE seq = 7`)
    const { ok, broken } = await verifyTrail(server.get(Database), GIVEN)
    assert.equal({ ok, ...broken }, { ok: false, seq: 7, kind: 'altered' }, column)
    await change(server, `UPDATE audit_event SET ${column} = ? WHERE seq = 7`, [value as SqlParam])
    assert.is((await verifyTrail(server.get(Database), GIVEN)).ok, true, `${column} put back`)
  }
})

test('another number, a deletion, a swap and a copy are found where they are', () =>
  onBroken(left.server, async (brokenBy) => {
    assert.equal(await brokenBy('UPDATE audit_event SET seq = 1000 WHERE seq = 7'), {
      ok: false,
      seq: 7,
      kind: 'missing',
    })
    assert.equal(await brokenBy('DELETE FROM audit_event WHERE seq = 7'), { ok: false, seq: 7, kind: 'missing' })
    assert.equal(
      await brokenBy(
        'UPDATE audit_event SET seq = -1 WHERE seq = 5',
        'UPDATE audit_event SET seq = 5 WHERE seq = 6',
        'UPDATE audit_event SET seq = 6 WHERE seq = -1',
      ),
      { ok: false, seq: 5, kind: 'altered' },
    )
    const columns =
      'at, kind, status, type, id, ver, patient, client, person, token, address, request, operation, query, number, proof, mac'
    const copy = (to: number): string =>
      `INSERT INTO audit_event (seq, ${columns}) SELECT ${to}, ${columns} FROM audit_event WHERE seq = 5`
    assert.equal(await brokenBy(copy(-3)), { ok: false, seq: -3, kind: 'inserted' })
    assert.is((await brokenBy(copy(10_000))).kind, 'inserted')
    assert.equal(await brokenBy('DELETE FROM audit_event WHERE seq = 7', copy(7)), {
      ok: false,
      seq: 7,
      kind: 'altered',
    })
  }))

test('a trail whose end was cut off is found by its head', () =>
  onBroken(left.server, async (brokenBy) => {
    assert.equal(await brokenBy(`DELETE FROM audit_event WHERE seq > ${EVENTS - 3}`), {
      ok: false,
      seq: EVENTS - 2,
      kind: 'truncated',
    })
  }))

test('each column of the head is sealed', () =>
  onBroken(left.server, async (brokenBy) => {
    const zeros = chosenKind.name === 'postgres' ? "'\\x00'::bytea" : "x'00'"
    for (const [text, kind] of [
      [`chain = ${zeros}`, 'altered'],
      [`seal = ${zeros}`, 'head'],
      [`pruned_seal = ${zeros}`, 'pruned'],
      [`key = ${zeros}`, 'key'],
      [`pruned_key = ${zeros}`, 'key'],
      [`pruned_mac = ${zeros}`, 'altered'],
      ['pruned_seq = 3', 'inserted'],
      ['pruned_count = 3', 'head'],
      ['count = count + 1', 'head'],
      ['seq = seq - 1', 'inserted'],
      [`mac = ${zeros}`, 'head'],
    ] as const)
      assert.is((await brokenBy(`UPDATE audit_head SET ${text}`)).kind, kind, text)
  }))

test('a head that was changed while the server runs is told in the trail', async () => {
  if (chosenKind.name === 'postgres') return // there it is remembered, and sealed anew without being read
  const server = await filled()
  await change(server, 'UPDATE audit_head SET seal = ?', [Buffer.alloc(32, 7)])
  await create(server, { resourceType: 'Patient' })
  assert.is((await eventsOf(server, 'subtype=alarm')).length, 1)
  assert.ok(server.lines.some(({ level, msg }) => level === 'error' && /audit trail was changed/.test(String(msg))))
  await server.stop()
})

test('an old true head, put back with the events behind it gone, is found by a later checkpoint alone', () =>
  onOne(async (start) => {
    const first = await start({ key: KEY })
    await create(first, { resourceType: 'Patient' })
    await first.stop()
    const between = await start()
    const [old] = await rows<any>(between, 'SELECT * FROM audit_head')
    await between.stop()
    const second = await start({ key: KEY })
    for (let n = 0; n < 3; n += 1) await create(second, { resourceType: 'Patient' })
    await second.stop()
    const checkpoints = [first, second].map(({ lines }) => lines.findLast(({ msg }) => msg === 'audit checkpoint'))
    const [early, late] = checkpoints as unknown as readonly [
      { seq: number; mac: string },
      { seq: number; mac: string },
    ]
    const server = await start()
    const verify = (checkpoint?: { seq: number; mac: string }) =>
      verifyTrail(server.get(Database), { ...GIVEN, checkpoint })
    assert.is((await verify(late)).checkpoint, 'matches')
    await change(server, 'DELETE FROM audit_event WHERE seq > ?', [early.seq])
    const { seq, mac, count, seal } = old
    await change(server, 'UPDATE audit_head SET seq = ?, mac = ?, count = ?, seal = ?', [seq, mac, count, seal])
    assert.is((await verify()).ok, true, 'it cannot be seen from inside')
    assert.is((await verify(early)).checkpoint, 'matches')
    assert.equal((await verify(late)).broken, { seq: early.seq + 1, kind: 'truncated' })
    await server.stop()
    // And when others were written in their place.
    const third = await start({ key: KEY })
    for (let n = 0; n < 5; n += 1) await create(third, { resourceType: 'Basic', code: { text: 'x' } })
    await third.stop()
    const last = await start()
    assert.is((await verifyTrail(last.get(Database), GIVEN)).ok, true)
    const { broken } = await verifyTrail(last.get(Database), { ...GIVEN, checkpoint: late })
    assert.equal(broken, { seq: late.seq, kind: 'checkpoint' })
    await last.stop()
  }))

test('a checkpoint from the log is confirmed by a trail that went on since', async () => {
  const server = running
  const line = server.lines.find(({ msg }) => msg === 'audit checkpoint') as { seq: number; mac: string; time: string }
  assert.match(line.time, /^\d{4}-\d\d-\d\dT/)
  const { ok, checkpoint } = await verdictOf(server, `?seq=${line.seq}&mac=${line.mac}`)
  assert.equal({ ok, checkpoint }, { ok: true, checkpoint: 'matches' })
  const other = await verdictOf(server, `?seq=${line.seq}&mac=${'0'.repeat(64)}`)
  assert.equal(other.broken, { seq: line.seq, kind: 'checkpoint' })
  for (const query of ['?seq=1', `?mac=${'0'.repeat(64)}`, '?seq=x&mac=y', '?other=1'])
    assert.is((await server.inject(`/_audit/verify${query}`)).statusCode, 400, query)
})

test('an event from another database with the same key is found', async () => {
  const [row = {}] = await rows<Record<string, SqlParam>>(left.server, 'SELECT * FROM audit_event WHERE seq = 3')
  const { server: mine, close } = await openLeft()
  const columns = Object.keys(row)
  await change(mine, 'DELETE FROM audit_event WHERE seq = 3')
  await change(
    mine,
    `INSERT INTO audit_event (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`,
    Object.values(row),
  )
  assert.equal((await verifyTrail(mine.get(Database), GIVEN)).broken, { seq: 3, kind: 'altered' })
  await close()
})

test('a server that finds the head changed says so in the log and in the trail, and what is broken stays broken', async () => {
  await onOne(async (start) => {
    const first = await start({ key: KEY })
    for (let n = 0; n < 5; n += 1) await create(first, { resourceType: 'Patient' })
    await first.stop()
    // Without the trail, so that nobody follows it.
    const other = await start()
    await change(other, 'DELETE FROM audit_event WHERE seq > 4')
    await other.stop()
    const server = await start({ key: KEY })
    assert.ok(server.lines.some(({ level, msg }) => level === 'error' && /audit trail was changed/.test(String(msg))))
    assert.is((await eventsOf(server, 'subtype=alarm')).length, 1)
    assert.equal((await verifiedHere(server)).broken, { seq: 5, kind: 'missing' })
    await server.stop()
  })
})

test('a time without the trail leaves the mark of stop and start, and no table is touched meanwhile', async () => {
  await onOne(async (start) => {
    const first = await start({ key: KEY })
    await create(first, { resourceType: 'Patient' })
    await first.stop()
    const without = await start()
    const [before] = await rows<{ n: number }>(without, 'SELECT count(*) AS n FROM audit_event')
    await create(without, { resourceType: 'Patient' })
    assert.is((await without.inject('/_audit')).statusCode, 404)
    assert.equal(await rows(without, 'SELECT count(*) AS n FROM audit_event'), [before])
    await without.stop()
    const server = await start({ key: KEY })
    const marks = (await eventsOf(server)).map(({ subtype }) => subtype[0]?.code)
    assert.equal(marks, ['110120', 'create', '110121', '110120'])
    assert.is((await verifiedHere(server)).ok, true)
    await server.stop()
  })
})

test.run()
