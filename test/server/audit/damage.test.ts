/** What verification says when somebody changed the trail: where, and what kind of damage it is. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createKey } from '../../../plugins/audit/chain/key.ts'
import { sealHead, sealRow } from '../../../plugins/audit/chain/seals.ts'
import { verifyTrail } from '../../../plugins/audit/verify/walk.ts'
import { Database, type Param, sql } from '../../../plugins/database/service.ts'
import { chosenKind, sqliteKind } from '../../support/database-kinds.ts'
import { serverWith, type TestServer, type TestServerOptions } from '../../support/server-with.ts'
import { audited, auditedPlugins, create, eventsOf, KEY, plain, verdictOf } from './audited.ts'

const EVENTS = 12 // start and stop among them

let statements = 0
const change = (server: TestServer, text: string, params: readonly Param[] = []): Promise<unknown> => {
  statements += 1
  const statement = sql(`test.change-${statements}`, text)
  return server.get(Database).transact((transaction) => transaction.run(statement, params))
}
const rows = async <R>(server: TestServer, text: string): Promise<R[]> => {
  statements += 1
  return server.get(Database).all<R>(sql(`test.rows-${statements}`, text), [])
}

/** A server with some events, all written. */
const filled = async (options: TestServerOptions = {}): Promise<TestServer> => {
  const server = await audited(options)
  for (let n = 0; n < EVENTS; n += 1) await create(server, { resourceType: 'Patient', active: true })
  return server
}

const onOne = async (
  work: (start: (audit?: object | undefined) => Promise<TestServer>) => Promise<void>,
): Promise<void> => {
  const kind = chosenKind.name === 'memory' ? sqliteKind : chosenKind
  const { settings, remove } = await kind.fresh()
  await work((audit) =>
    serverWith({
      plugins: audit === undefined ? plain : auditedPlugins,
      settings: { ...settings, ...(audit && { audit }) },
    }),
  )
  await remove()
}

/** A trail that was left, opened by a server that does not follow it. */
const onLeft = (work: (server: TestServer, verify: typeof verifyTrail) => Promise<void>): Promise<void> =>
  onOne(async (start) => {
    const first = await start({ key: KEY })
    for (let n = 0; n < EVENTS - 2; n += 1) await create(first, { resourceType: 'Patient', active: true })
    await first.stop()
    const server = await start()
    await work(server, verifyTrail)
    await server.stop()
  })

const GIVEN = { key: KEY, previousKeys: [] }

type Broken = (...texts: readonly string[]) => Promise<{ ok: boolean; seq: number; kind: string }>

/** The same trail, changed again and again, and put back each time. */
const onBroken = (work: (brokenBy: Broken) => Promise<void>): Promise<void> =>
  onLeft(async (server, verify) => {
    const TABLES = ['audit_event', 'audit_head']
    for (const table of TABLES) await change(server, `CREATE TABLE kept_${table} AS SELECT * FROM ${table}`)
    await work(async (...texts) => {
      for (const text of texts) await change(server, text)
      const { ok, broken } = await verify(server.get(Database), GIVEN)
      for (const table of TABLES) {
        await change(server, `DELETE FROM ${table}`)
        await change(server, `INSERT INTO ${table} SELECT * FROM kept_${table}`)
      }
      return { ok, ...broken } as { ok: boolean; seq: number; kind: string }
    })
    assert.is((await verify(server.get(Database), GIVEN)).ok, true, 'put back')
  })

test('nothing is broken where nobody changed anything, and every event was checked', async () => {
  const server = await filled()
  const verdict = await verdictOf(server)
  assert.is(verdict.ok, true)
  assert.is(verdict.keyed, true)
  assert.is(verdict.broken, undefined)
  assert.is(verdict.checked, verdict.head.seq)
  assert.match(verdict.head.mac, /^[0-9a-f]{64}$/)
  await server.stop()
})

test('a change in any column of an event is found at that event', () =>
  onLeft(async (server, verify) => {
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
      const { ok, broken } = await verify(server.get(Database), GIVEN)
      assert.equal({ ok, ...broken }, { ok: false, seq: 7, kind: 'altered' }, column)
      await change(server, `UPDATE audit_event SET ${column} = ? WHERE seq = 7`, [value as Param])
      assert.is((await verify(server.get(Database), GIVEN)).ok, true, `${column} put back`)
    }
  }))

test('another number, a deletion, a swap and a copy are found where they are', () =>
  onBroken(async (brokenBy) => {
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
  onBroken(async (brokenBy) => {
    assert.equal(await brokenBy(`DELETE FROM audit_event WHERE seq > ${EVENTS - 3}`), {
      ok: false,
      seq: EVENTS - 2,
      kind: 'truncated',
    })
  }))

test('each column of the head is sealed', () =>
  onBroken(async (brokenBy) => {
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
  const server = await filled()
  const line = server.lines.find(({ msg }) => msg === 'audit checkpoint') as { seq: number; mac: string; time: string }
  assert.match(line.time, /^\d{4}-\d\d-\d\dT/)
  const { ok, checkpoint } = await verdictOf(server, `?seq=${line.seq}&mac=${line.mac}`)
  assert.equal({ ok, checkpoint }, { ok: true, checkpoint: 'matches' })
  const other = await verdictOf(server, `?seq=${line.seq}&mac=${'0'.repeat(64)}`)
  assert.equal(other.broken, { seq: line.seq, kind: 'checkpoint' })
  for (const query of ['?seq=1', `?mac=${'0'.repeat(64)}`, '?seq=x&mac=y', '?other=1'])
    assert.is((await server.inject(`/_audit/verify${query}`)).statusCode, 400, query)
  await server.stop()
})

test('a forged event is found with a key; without one whoever can write builds the chain anew, and verification says so', async () => {
  await onOne(async (start) => {
    const first = await start({})
    for (let n = 0; n < 5; n += 1) await create(first, { resourceType: 'Patient' })
    assert.equal([(await verdictOf(first)).ok, (await verdictOf(first)).keyed], [true, false])
    await first.stop()
    const server = await start()
    const forge = createKey()
    const all = await rows<any>(server, 'SELECT * FROM audit_event ORDER BY seq')
    const [head] = await rows<any>(server, 'SELECT * FROM audit_head')
    let mac = head.pruned_mac
    for (const row of all) {
      mac = sealRow(forge, head.chain, mac, row.seq === 3 ? { ...row, status: 299 } : row)
      await change(server, `UPDATE audit_event SET mac = ?${row.seq === 3 ? ', status = 299' : ''} WHERE seq = ?`, [
        mac,
        row.seq,
      ])
    }
    await change(server, 'UPDATE audit_head SET mac = ?, seal = ?', [mac, sealHead(forge, { ...head, mac })])
    assert.is((await verifyTrail(server.get(Database), { key: undefined, previousKeys: [] })).ok, true)
    await server.stop()
  })
})

test('a chain rebuilt with another key is broken at its first event, and a wrong key is told as such', async () => {
  await onOne(async (start) => {
    const first = await start({ key: KEY })
    for (let n = 0; n < 5; n += 1) await create(first, { resourceType: 'Patient' })
    await first.stop()
    const server = await start()
    const db = server.get(Database)
    for (const key of ['another key of sixteen', undefined]) {
      const { ok, broken, message } = await verifyTrail(db, { key, previousKeys: [] })
      assert.equal({ ok, ...broken }, { ok: false, seq: 1, kind: 'key' })
      assert.match(message ?? '', /The key does not match/)
    }
    const forge = createKey('another key of sixteen')
    const [head] = await rows<any>(server, 'SELECT * FROM audit_head')
    let mac = head.pruned_mac
    for (const row of await rows<any>(server, 'SELECT * FROM audit_event ORDER BY seq')) {
      mac = sealRow(forge, head.chain, mac, row)
      await change(server, 'UPDATE audit_event SET mac = ? WHERE seq = ?', [mac, row.seq])
    }
    await change(server, 'UPDATE audit_head SET mac = ?, seal = ?', [mac, sealHead(forge, { ...head, mac })])
    assert.equal((await verifyTrail(db, { key: KEY, previousKeys: [] })).broken, { seq: 1, kind: 'altered' })
    await server.stop()
  })
})

test('an event from another database with the same key is found', async () => {
  let row: Record<string, Param> = {}
  await onLeft(async (other) => {
    row = (await rows<Record<string, Param>>(other, 'SELECT * FROM audit_event WHERE seq = 3'))[0] ?? {}
  })
  await onLeft(async (mine, verify) => {
    const columns = Object.keys(row)
    await change(mine, 'DELETE FROM audit_event WHERE seq = 3')
    await change(
      mine,
      `INSERT INTO audit_event (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`,
      Object.values(row),
    )
    assert.equal((await verify(mine.get(Database), GIVEN)).broken, { seq: 3, kind: 'altered' })
  })
})

test('a server whose key does not fit the trail does not start, and one with a key of 15 bytes neither', async () => {
  await onOne(async (start) => {
    await (await start({ key: KEY })).stop()
    for (const audit of [{ key: 'another key of sixteen' }, {}])
      assert.match(String(await start(audit).catch((error) => error)), /chained with another key/)
    const short = await start({ key: '123456789012345' }).catch((error) => error)
    assert.match(String(short), /\[audit\] key is not valid; it takes a string of at least 16/)
    const again = await start({ key: KEY })
    assert.is((await verdictOf(again)).ok, true, 'and leaves the trail as it was')
    await again.stop()
  })
})

test('a key is changed with the old one at hand; both are needed to verify, and the change is an event', async () => {
  await onOne(async (start) => {
    const NEW = 'the second key of the chain'
    const first = await start({ key: KEY })
    await create(first, { resourceType: 'Patient' })
    await first.stop()
    const server = await start({ key: NEW, previous_keys: [KEY] })
    await create(server, { resourceType: 'Patient' })
    assert.is((await verdictOf(server)).ok, true)
    assert.is((await eventsOf(server, 'subtype=rekey')).length, 1)
    const db = server.get(Database)
    assert.is((await verifyTrail(db, { key: NEW, previousKeys: [] })).broken?.kind, 'key')
    assert.is((await verifyTrail(db, { key: KEY, previousKeys: [] })).broken?.kind, 'key')
    const [{ seq } = { seq: 0 }] = await rows<{ seq: number }>(
      server,
      'SELECT seq FROM audit_event WHERE proof IS NOT NULL',
    )
    await change(server, 'UPDATE audit_event SET at = at + 1 WHERE seq = ?', [seq])
    assert.equal((await verdictOf(server)).broken, { seq, kind: 'altered' })
    await server.stop()
  })
})

test('a first key follows a chain that had none', async () => {
  await onOne(async (start) => {
    await (await start({})).stop()
    const server = await start({ key: KEY })
    const { ok, keyed } = await verdictOf(server)
    assert.equal({ ok, keyed }, { ok: true, keyed: true })
    await server.stop()
  })
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
    assert.equal((await verdictOf(server)).broken, { seq: 5, kind: 'missing' })
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
    assert.is((await verdictOf(server)).ok, true)
    await server.stop()
  })
})

test.run()
