/** Transactions at the same time that take the same things in different orders: all pass, none waits for a deadlock. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { Database, sql } from '../../../plugins/database/service.ts'
import { insertDisplay } from '../../../plugins/search/index/tables.ts'
import { withSession } from '../../support/connect-postgres.ts'
import { chosenKind } from '../../support/database-kinds.ts'
import { type Clinic, clinicWith, del, type Entry, type Json, post, put } from './clinic.ts'

const AT_ONCE = 8
const NPI = 'http://hl7.org/fhir/sid/us-npi'

const readDisplays = sql('test.displays', "SELECT val FROM ix_text WHERE txt = 'display'")

let clinic: Clinic
test.before(async () => {
  clinic = await clinicWith()
})
test.after(() => clinic.stop())

const send = (entries: readonly (readonly Entry[])[]) =>
  Promise.all(entries.map((one) => clinic.bundle('transaction', one, { headers: { prefer: 'return=representation' } })))

test('Bundles that bring the same people and places with conditions, in either order', async () => {
  const known = (type: string, value: number): Entry =>
    post({ resourceType: type, identifier: [{ system: NPI, value: String(value) }] }, undefined, {
      ifNoneExist: `identifier=${NPI}|${value}`,
    })
  const bundles = Array.from({ length: 3 * AT_ONCE }, (_, at): Entry[] => {
    const staff = [known('Organization', at % 2), known('Patient', at % 2)]
    return [...(at % 2 === 0 ? staff : staff.toReversed()), post({ resourceType: 'Observation' })]
  })
  const answers = await send(bundles)
  assert.equal([...new Set(answers.map(({ status }) => status))], [200])
  for (const type of ['Organization', 'Patient']) assert.is((await clinic.ids(type)).length, 2, type)
})

test('Bundles that update the same resources in either order', async () => {
  const ids = ['a', 'b', 'c', 'd']
  const updating =
    (mark: string) =>
    (id: string): Entry =>
      put({ resourceType: 'Basic', id, code: { text: mark } })
  assert.is((await clinic.bundle('transaction', ids.map(updating('first')))).status, 200)
  const bundles = Array.from({ length: 3 * AT_ONCE }, (_, at) =>
    (at % 2 === 0 ? ids : ids.toReversed()).map(updating(`${at}`)),
  )
  const answers = await send(bundles)
  assert.equal([...new Set(answers.map(({ status }) => status))], [200])
  for (const id of ids)
    assert.is((await clinic.ask('GET', `/Basic/${id}`)).json.meta.versionId, String(1 + bundles.length))
  // The answers stand in the order of the entries, whatever the order of the work.
  for (const [at, { json }] of answers.entries())
    assert.equal(
      json.entry.map(({ resource }: Json) => resource.id),
      at % 2 === 0 ? ids : ids.toReversed(),
    )
})

test('a transaction that deletes what a resource refers to, beside one that changes both', async () => {
  const { settings, remove } = await chosenKind.fresh()
  const own = await clinicWith(settings)
  const patient = (id: string, to?: string, active = false): Entry =>
    put({
      resourceType: 'Patient',
      id,
      active,
      ...(to === undefined ? {} : { link: [{ other: { reference: `Patient/${to}` }, type: 'seealso' }] }),
    })
  const pairs = Array.from({ length: AT_ONCE }, (_, at) => [`x${at}`, `y${at}`] as const)
  for (const [from, to] of [...pairs, ...pairs.map(([x, y]) => [y, x] as const)]) {
    const sent = [
      own.bundle('transaction', [patient(to), patient(from, to)]),
      own.bundle('transaction', [del(`Patient/${to}`), patient(from, undefined, true)]),
      own.bundle('transaction', [patient(to, undefined, true), patient(from, to, true)]),
      own.ask('PUT', `/Patient/${from}`, patient(from, to).resource as Json),
    ]
    for (const { status } of await Promise.all(sent)) assert.ok([200, 201, 409, 422].includes(status), String(status))
  }
  await own.stop()
  // A backend counts its deadlocks when it ends at the latest.
  if (chosenKind.name === 'postgres')
    await withSession((settings.database as { postgres_url: string }).postgres_url, async (session) => {
      const counted = await session.query<{ deadlocks: number }>(
        'SELECT deadlocks::int AS deadlocks FROM pg_stat_database WHERE datname = current_database()',
      )
      assert.is(counted.rows[0]?.deadlocks, 0)
    })
  await remove()
})

test('a display that another transaction has written and not committed is not waited for', async () => {
  // SQLite has one writer.
  if (chosenKind.name !== 'postgres') return
  const db = clinic.server.get(Database)
  const written = [1, 'display', 7, null]
  await db.transact(async (first) => {
    await first.insertDeferred(insertDisplay, written)
    assert.is((await first.all(readDisplays, [])).length, 1)
    await db.transact((second) => second.insertDeferred(insertDisplay, written))
  })
  assert.is((await db.all(readDisplays, [])).length, 2)
  await db.transact((third) => third.insertDeferred(insertDisplay, written))
  assert.is((await db.all(readDisplays, [])).length, 2)
})

test.run()
