/** Keys of the chain: with one, without one, with another, and changed. */
// database: sqlite and postgres, because in memory the same statements run as on a file
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createKey } from '../../../plugins/audit/chain/key.ts'
import { sealHead, sealRow } from '../../../plugins/audit/chain/seals.ts'
import { verifyTrail } from '../../../plugins/audit/verify/walk.ts'
import { Database } from '../../../plugins/database/service.ts'
import { create, eventsOf, KEY, verdictOf } from './audited.ts'

import { change, onOne, rows } from './changed-trail.ts'

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

test.run()
