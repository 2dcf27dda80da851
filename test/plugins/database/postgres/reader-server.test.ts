/** A server that only reads: it gets a transaction for shared work alone, and snapshots. */
import { EntitySchema } from '@mikro-orm/core'
import pg from 'pg'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createKernel, definePlugin, type Kernel, Type } from '../../../../kernel/index.ts'
import database from '../../../../plugins/database/index.ts'
import { type CommitParticipant, Database, sql, type Transaction } from '../../../../plugins/database/service.ts'
import { type FreshDatabase, postgresKind } from '../../../support/database-kinds.ts'
import { until } from '../../../support/until.ts'

interface Note {
  id: number
}
const NoteSchema = new EntitySchema<Note>({
  name: 'Note',
  tableName: 'note',
  properties: { id: { type: 'number', primary: true } },
})
const notes = definePlugin({
  name: 'notes',
  entities: async () => [NoteSchema],
  migrations: [{ name: 'notes/0001-note', sql: ['CREATE TABLE note (id integer PRIMARY KEY)'] }],
  setup: () => undefined,
})
/** Declares the role, as the plugin `cluster` does. */
const roles = definePlugin({
  name: 'roles',
  config: {
    cluster: Type.Object({ role: Type.String({ default: 'primary', description: 'What the process is for.' }) }),
  },
  setup: () => undefined,
})
const insert = sql('test.insert', 'INSERT INTO note (id) VALUES (?)')
const find = sql('test.find', 'SELECT id FROM note WHERE id = ?')
const ids = sql('test.ids', 'SELECT id FROM note ORDER BY id')
const participant: CommitParticipant<number> = {
  beforeCommit: async (transaction, items) => {
    for (const id of items) await transaction.run(insert, [id])
  },
  finished: () => undefined,
  refuse: (cause) => cause as never,
}

let fresh: FreshDatabase
let primary: Kernel
let replica: Kernel
const open = async (role: string, place: FreshDatabase = fresh): Promise<Kernel> => {
  const kernel = await createKernel({
    plugins: [database, notes, roles],
    settings: { ...place.settings, cluster: { role } },
    log: { level: 'silent' },
  })
  await kernel.start()
  return kernel
}
test.before(async () => {
  fresh = await postgresKind.fresh()
  primary = await open('primary')
  replica = await open('replica')
})
test.after(async () => {
  await replica?.stop()
  await primary?.stop()
  await fresh?.remove()
})
const stored = async (): Promise<number[]> =>
  (await primary.get(Database).all<{ id: number }>(ids, [])).map(({ id }) => id)
const keyOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    (error) => error.key ?? error.message,
  )

const WAYS: Readonly<Record<string, (transaction: Transaction, id: number) => Promise<void>>> = {
  'only writes': async (transaction, id) => void (await transaction.run(insert, [id])),
  'asks first': async (transaction, id) => {
    await transaction.get(find, [id])
    await transaction.run(insert, [id])
  },
  'has work before COMMIT': async (transaction, id) => transaction.beforeCommit(participant, id),
}
for (const [way, work] of Object.entries(WAYS))
  test(`a transaction that ${way} is refused before it begins`, async () => {
    const db = replica.get(Database)
    let hasBegun = false
    const refused = db.transact(async (transaction) => {
      hasBegun = true
      await work(transaction, 1)
    })
    assert.is(await keyOf(refused), 'database/reads-only')
    assert.is(await keyOf(db.transact((one) => work(one, 1), { asynchronousCommit: true })), 'database/reads-only')
    assert.is(hasBegun, false)
    assert.equal(await stored(), [])
  })

test('work that every server may do is done', async () => {
  await replica.get(Database).transact((transaction) => transaction.run(insert, [7]), { shared: true })
  assert.equal(await stored(), [7])
})

test('MikroORM reads and does not write', async () => {
  const orm = await replica.get(Database).orm()
  const { em } = orm as unknown as { em: { fork(): any } }
  assert.equal((await em.fork().find('Note', {})).length, 1)
  const own = em.fork()
  own.persist(own.create('Note', { id: 8 }))
  assert.match(await keyOf(own.flush()), /read-only transaction/)
  assert.equal(await stored(), [7])
  // Nobody else got the session that does not write.
  await replica.get(Database).transact((transaction) => transaction.run(insert, [9]), { shared: true })
  assert.equal(await stored(), [7, 9])
})

test('reads of one snapshot see the same commits, on every server, and write nothing', async () => {
  for (const kernel of [primary, replica]) {
    const before = await stored()
    const next = Math.max(...before) + 1
    const seen = await kernel.get(Database).reading(async (transaction) => {
      const first = await transaction.all<{ id: number }>(ids, [])
      await primary.get(Database).transact((other) => other.run(insert, [next]))
      return [first, await transaction.all<{ id: number }>(ids, [])].map((rows) => rows.map(({ id }) => id))
    })
    assert.equal(seen, [before, before])
    assert.equal(await stored(), [...before, next])
    const write = kernel.get(Database).reading(async (transaction) => {
      await transaction.all(ids, [])
      await transaction.run(insert, [next + 1])
    })
    assert.not.equal(await keyOf(write), 'done')
    assert.equal(await stored(), [...before, next])
  }
})

test('snapshots leave sessions for what is asked beside them', async () => {
  const db = replica.get(Database)
  const reading = Array.from({ length: 40 }, (_, n) =>
    db.reading(async (transaction) => {
      await transaction.get(find, [n])
      return (await db.longQuery<{ id: number }>(ids, [])).length
    }),
  )
  const counts = await Promise.all(reading)
  assert.is(counts.length, 40)
})

test('a replica that cannot start leaves nothing that goes on asking the database', async () => {
  const apart = await postgresKind.migrated([database, notes, roles])
  const { postgres_url } = apart.settings.database as { readonly postgres_url: string }
  const client = new pg.Client(postgres_url)
  await client.connect()
  // The watch of the schema asks this each second, and its session stays open.
  const watching = async (): Promise<number> => {
    const text = `SELECT count(*)::int AS n FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid() AND query LIKE '%count(*) AS n FROM migration%'`
    return (await client.query(text)).rows[0].n
  }
  try {
    await client.query('ALTER TABLE cluster_member RENAME TO away')
    assert.match(await keyOf(open('replica', apart)), 'kernel/plugin-start')
    await client.query('ALTER TABLE away RENAME TO cluster_member')
    const second = await open('replica', apart)
    await until(async () => (await watching()) > 0, 10_000, 'the replica to look at the migrations')
    // One that the first start had left would have looked before.
    assert.is(await watching(), 1)
    await second.stop()
  } finally {
    await client.end()
    await apart.remove()
  }
})

test.run()
