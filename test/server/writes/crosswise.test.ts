/** Transactions at the same time that take the same things in different orders: all pass, none waits for a deadlock. */
// npm test: sqlite and postgres, whose statements differ
// memory: reads wait there while a transaction is open
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { Database, sql } from '../../../plugins/database/service.ts'
import { insertDisplay } from '../../../plugins/search/index/tables.ts'
import { withSession } from '../../support/connect-postgres.ts'
import { chosenKind } from '../../support/database-kinds.ts'
import { type Clinic, clinicPlugins, clinicWith, del, type Entry, type Json, post, put } from './clinic.ts'

const AT_ONCE = 6
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

/** Does the work on a server of its own, after which PostgreSQL has resolved no deadlock. */
const withoutDeadlocks = async (work: (own: Clinic) => Promise<void>): Promise<void> => {
  const { settings, remove } = await chosenKind.fresh(clinicPlugins())
  const own = await clinicWith(settings)
  try {
    await work(own)
  } finally {
    await own.stop()
  }
  // A backend counts its deadlocks when it ends at the latest.
  if (chosenKind.name === 'postgres')
    await withSession((settings.database as { postgres_url: string }).postgres_url, async (session) => {
      const counted = await session.query<{ deadlocks: number }>(
        'SELECT deadlocks::int AS deadlocks FROM pg_stat_database WHERE datname = current_database()',
      )
      assert.is(counted.rows[0]?.deadlocks, 0)
    })
  await remove()
}
const patient = (id: string, to?: string, active = false): Entry =>
  put({
    resourceType: 'Patient',
    id,
    active,
    ...(to === undefined ? {} : { link: [{ other: { reference: `Patient/${to}` }, type: 'seealso' }] }),
  })
const statusesOf = async (sent: readonly Promise<{ readonly status: number }>[]): Promise<readonly number[]> =>
  (await Promise.all(sent)).map(({ status }) => status)

test('a transaction that deletes what a resource refers to, beside one that changes both', () =>
  withoutDeadlocks(async (own) => {
    const pairs = Array.from({ length: AT_ONCE }, (_, at) => [`x${at}`, `y${at}`] as const)
    for (const [from, to] of [...pairs, ...pairs.map(([x, y]) => [y, x] as const)]) {
      const statuses = await statusesOf([
        own.bundle('transaction', [patient(to), patient(from, to)]),
        own.bundle('transaction', [del(`Patient/${to}`), patient(from, undefined, true)]),
        own.bundle('transaction', [patient(to, undefined, true), patient(from, to, true)]),
        own.ask('PUT', `/Patient/${from}`, patient(from, to).resource as Json),
      ])
      for (const status of statuses) assert.ok([200, 201, 409, 422].includes(status), String(status))
    }
  }))

test('transactions of which some resources are new', () =>
  withoutDeadlocks(async (own) => {
    for (let round = 0; round < AT_ONCE; round += 1) {
      const [first, second, third] = ['a', 'b', 'd'].map((name) => `${name}${round}`) as [string, string, string]
      assert.is((await own.bundle('transaction', [patient(first), patient(third)])).status, 200)
      const sent = Array.from({ length: AT_ONCE }, (_, at) =>
        own.bundle(
          'transaction',
          (at % 2 === 0 ? [second, third] : [first, second, third]).map((id) => patient(id)),
        ),
      )
      assert.equal([...new Set(await statusesOf(sent))], [200])
    }
  }))

test('three transactions on three new resources in a ring', () =>
  withoutDeadlocks(async (own) => {
    for (let round = 0; round < 2 * AT_ONCE; round += 1) {
      const ring = ['x', 'y', 'z'].map((name) => `${name}${round}`)
      const sent = ring.map((id, at) =>
        own.bundle('transaction', [patient(id), patient(ring[(at + 1) % ring.length] as string)]),
      )
      assert.equal([...new Set(await statusesOf(sent))], [200])
    }
  }))

test('transactions beside the indexing of what SearchParameters were posted for', () =>
  withoutDeadlocks(async (own) => {
    // Keys are given in another order than ids.
    const ids = Array.from({ length: 40 }, (_, at) => `p${(at * 17) % 40}`)
    for (const id of ids) await own.ask('PUT', `/Patient/${id}`, patient(id).resource as Json)
    const change = async (): Promise<void> => {
      for (let round = 0; round < AT_ONCE; round += 1) {
        const entries = ids.slice(round, round + 20).map((id) => patient(id, undefined, round % 2 === 0))
        assert.is((await own.bundle('transaction', entries)).status, 200)
      }
    }
    const postAll = async (): Promise<void> => {
      for (let at = 0; at < AT_ONCE; at += 1) {
        const code = `own-${at}`
        const { status, text } = await own.ask('POST', '/SearchParameter', {
          resourceType: 'SearchParameter',
          url: `http://parameters.example/${code}`,
          name: code,
          code,
          status: 'active',
          description: code,
          base: ['Patient'],
          type: 'string',
          expression: `Patient.name.text.where($this = '${at}')`,
        })
        assert.is(status, 201, text)
      }
    }
    await Promise.all([change(), change(), change(), postAll()])
  }))

test('a conditional interaction that makes something match excludes one that found nothing', async () => {
  for (let round = 0; round < 3 * AT_ONCE; round += 1) {
    const value = `excluded-${round}`
    const resource = { resourceType: 'Patient', identifier: [{ system: NPI, value }] }
    await clinic.create({ ...resource, active: false })
    const criteria = `identifier=${NPI}|${value}`
    const [patched, created] = await Promise.all([
      clinic.ask('PATCH', `/Patient?${criteria}`, '{"active":true}', {
        headers: { 'content-type': 'application/merge-patch+json' },
      }),
      clinic.ask(
        'POST',
        '/Patient',
        { ...resource, active: true },
        { headers: { 'if-none-exist': `${criteria}&active=true` } },
      ),
    ])
    const { total } = (await clinic.ask('GET', `/Patient?${criteria}&_summary=count`)).json
    // In any order one after the other: the second one finds it, or the first one makes a second match for the patch.
    assert.ok(
      (patched.status === 200 && created.status === 200 && total === 1) ||
        (patched.status === 412 && created.status === 201),
      `${patched.status} ${created.status} ${total}`,
    )
  }
})

test('a plain create that makes a second match does not refuse a conditional create beside it', async () => {
  for (let round = 0; round < AT_ONCE; round += 1) {
    const value = `beside-${round}`
    const resource = { resourceType: 'Patient', identifier: [{ system: NPI, value }] }
    const other = put({ resourceType: 'Patient', id: `other-${round}` })
    const answers = await send([
      [post(resource, undefined, { ifNoneExist: `identifier=${NPI}|${value}` }), other],
      [put({ ...resource, id: `plain-${round}` }), other],
    ])
    assert.equal(
      answers.map(({ status }) => status),
      [200, 200],
    )
  }
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
