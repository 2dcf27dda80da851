/** The feed of changes: what commits publish, on the server that writes and on those that follow it. */
// waits: for changes that come late
import pg from 'pg'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type AnyPlugin, createKernel, definePlugin, type Kernel } from '../../../kernel/index.ts'
import { makeDatabasePlugin } from '../../../plugins/database/database-plugin.ts'
import database from '../../../plugins/database/index.ts'
import {
  ChangeFeed,
  type CommitParticipant,
  Database,
  type FeedCommit,
  type FeedPosition,
  isNote,
  type ResourceChange,
  sql,
  type Transaction,
} from '../../../plugins/database/service.ts'
import { databaseKinds, type FreshDatabase, postgresKind } from '../../support/database-kinds.ts'
import { until } from '../../support/until.ts'

const WAIT_MS = 10_000
const notes = definePlugin({
  name: 'notes',
  migrations: [{ name: 'notes/0001-note', sql: ['CREATE TABLE note (id integer PRIMARY KEY)'] }],
  setup: () => undefined,
})
const insert = sql('test.insert', 'INSERT INTO note (id) VALUES (?)')
const find = sql('test.find', 'SELECT id FROM note WHERE id = ?')
const participant: CommitParticipant<number> = {
  beforeCommit: async (transaction, items) => {
    for (const id of items) await transaction.run(insert, [id])
  },
  finished: () => undefined,
  refuse: (cause) => cause as never,
}

const changeOf = (rid: number, version = 1): ResourceChange => ({
  type: 'Patient',
  id: `p${rid}`,
  rid,
  version,
  stamp: 1_700_000_000_000_000 + rid,
  deleted: version > 1,
})

interface Heard {
  readonly commits: FeedCommit[]
  readonly gaps: FeedPosition[]
  readonly rids: () => readonly number[]
}
interface Place {
  readonly kernel: Kernel
  readonly db: Database
  readonly feed: ChangeFeed
  readonly heard: Heard
}

const open = async (settings: Record<string, unknown>, plugin: AnyPlugin = database): Promise<Place> => {
  const kernel = await createKernel({ plugins: [plugin, notes], settings, log: { level: 'silent' } })
  const feed = kernel.get(ChangeFeed)
  const commits: FeedCommit[] = []
  const gaps: FeedPosition[] = []
  feed.listen({ name: 'test', commit: (one) => void commits.push(one), gap: (at) => void gaps.push(at) })
  assert.is(feed.isComplete, false)
  assert.is(feed.status, undefined)
  await kernel.start()
  const rids = () => commits.flatMap(({ published }) => published.map((one) => (isNote(one) ? -1 : one.rid)))
  return { kernel, db: kernel.get(Database), feed, heard: { commits, gaps, rids } }
}
const publish = (db: Database, rid: number, options = {}): Promise<void> =>
  db.transact(async (transaction) => {
    await transaction.run(insert, [rid])
    transaction.publish(changeOf(rid))
  }, options)
const numbers = (from: number, to: number): readonly number[] => Array.from({ length: to - from }, (_, n) => from + n)

const WAYS: Readonly<Record<string, (transaction: Transaction, id: number) => Promise<void>>> = {
  'only writes': async (transaction, id) => void (await transaction.run(insert, [id])),
  'asks first': async (transaction, id) => {
    await transaction.get(find, [id])
    await transaction.run(insert, [id])
  },
  'has work before COMMIT': async (transaction, id) => transaction.beforeCommit(participant, id),
  'asks, and has work before COMMIT': async (transaction, id) => {
    await transaction.get(find, [id])
    await transaction.run(insert, [id])
    transaction.beforeCommit(participant, 1_000 + id)
  },
}

for (const kind of databaseKinds()) {
  const withPlace = async (work: (place: Place) => Promise<void>): Promise<void> => {
    const fresh = await kind.fresh([database, notes])
    const place = await open(fresh.settings)
    try {
      await work(place)
    } finally {
      await place.kernel.stop()
      await fresh.remove()
    }
  }

  for (const [way, work] of Object.entries(WAYS))
    test(`${kind.name}: what a transaction publishes that ${way} is told once, before its caller goes on`, () =>
      withPlace(async ({ db, feed, heard }) => {
        assert.is(feed.isComplete, true)
        const before = feed.status as FeedPosition
        for (const rid of [1, 2])
          await db.transact(async (transaction) => {
            await work(transaction, rid)
            transaction.publish(changeOf(rid))
            transaction.publish({ about: 'job', subject: `j${rid}` })
          })
        const { epoch, seq } = before
        assert.equal(heard.commits, [
          { epoch, seq: seq + 1, published: [changeOf(1), { about: 'job', subject: 'j1' }] },
          { epoch, seq: seq + 2, published: [changeOf(2), { about: 'job', subject: 'j2' }] },
        ])
        assert.equal(feed.status, { epoch, seq: seq + 2, lag: 0 })
        assert.equal(heard.gaps, [])
      }))

  test(`${kind.name}: nothing is told of what is rolled back, and a commit that publishes nothing has no number`, () =>
    withPlace(async ({ db, feed, heard }) => {
      const before = feed.status
      await db.transact((transaction) => transaction.run(insert, [1]))
      const failed = db.transact(async (transaction) => {
        transaction.publish(changeOf(2))
        await transaction.run(insert, [2])
        await transaction.run(insert, [1])
      })
      assert.is(
        await failed.then(
          () => 'committed',
          () => 'rolled back',
        ),
        'rolled back',
      )
      await db.transact((transaction) => transaction.get(find, [1]))
      assert.equal(heard.commits, [])
      assert.equal(feed.status, before)
    }))

  test(`${kind.name}: of many at once each is told once, in the order of numbers without a hole, also those that need not wait for the disk`, () =>
    withPlace(async ({ db, feed, heard }) => {
      const first = (feed.status as FeedPosition).seq
      const ids = numbers(0, 120)
      await Promise.all(
        ids.map((rid) => {
          if (rid % 4 === 0) return publish(db, rid, { asynchronousCommit: true })
          const work = Object.values(WAYS)[rid % 4]!
          return db.transact(async (transaction) => {
            transaction.publish(changeOf(rid))
            await work(transaction, rid)
          })
        }),
      )
      assert.equal(
        [...heard.rids()].sort((one, other) => one - other),
        ids,
      )
      assert.equal(
        heard.commits.map(({ seq }) => seq),
        heard.commits.map((_, at) => first + at + 1),
      )
      assert.equal(feed.status?.lag, 0)
      await feed.look()
    }))

  test(`${kind.name}: a listener that throws keeps nobody else from being told, and one that is removed hears nothing`, () =>
    withPlace(async ({ db, feed, heard }) => {
      const remove = feed.listen({
        name: 'broken',
        commit: () => {
          throw new Error('broken')
        },
        gap: () => undefined,
      })
      await publish(db, 1)
      remove()
      const changed = feed.changed(new AbortController().signal)
      await publish(db, 2)
      await changed
      assert.equal(heard.rids(), [1, 2])
    }))
}

const follower = makeDatabasePlugin({ hasLease: true, follows: true })

interface Pair {
  readonly primary: Place
  readonly settings: Record<string, unknown>
  /** Beside the servers. */
  ask(text: string): Promise<Record<string, any>[]>
  follow(): Promise<Place>
}
const withPair = async (work: (pair: Pair) => Promise<void>): Promise<void> => {
  const fresh: FreshDatabase = await postgresKind.fresh([database, notes])
  const { postgres_url } = fresh.settings.database as { postgres_url: string }
  const client = new pg.Client(postgres_url)
  await client.connect()
  const opened: Place[] = []
  const start = async (plugin?: AnyPlugin): Promise<Place> => {
    const place = await open(fresh.settings, plugin)
    opened.push(place)
    return place
  }
  try {
    await work({
      primary: await start(),
      settings: fresh.settings,
      ask: async (text) => (await client.query(text)).rows,
      follow: () => start(follower),
    })
  } finally {
    for (const { kernel } of opened.reverse()) await kernel.stop()
    await client.end()
    await fresh.remove()
  }
}
const rowsOf = async ({ ask }: Pair): Promise<number> =>
  (await ask('SELECT count(*)::int AS n FROM cluster_change'))[0]!.n
/** Once the primary has heard of the follower, commits have rows. */
const whenTold = async (pair: Pair, { feed, heard }: Place, rid: number): Promise<void> => {
  for (let more = rid; !heard.rids().includes(more - 1); more += 1) {
    await publish(pair.primary.db, more)
    await until(() => feed.status?.lag === 0 && heard.commits.length + heard.gaps.length > 0, WAIT_MS, 'the follower')
  }
}

test('postgres: a follower is told what the primary commits, in the same order with the same numbers', () =>
  withPair(async (pair) => {
    await publish(pair.primary.db, 1)
    const place = await pair.follow()
    assert.is(place.feed.isComplete, true)
    await whenTold(pair, place, 100_000)
    const from = place.heard.commits.length
    const own = pair.primary.heard.commits.length
    await Promise.all(numbers(10, 200).map((rid) => publish(pair.primary.db, rid)))
    const last = pair.primary.feed.status!.seq
    await until(() => place.feed.status?.seq === last, WAIT_MS, 'the follower to read all')
    assert.equal(place.heard.commits.slice(from), pair.primary.heard.commits.slice(own))
    const [row] = await pair.ask('SELECT role, epoch::int, seq::int FROM cluster_member')
    assert.is(row!.role, 'replica')
  }))

test('postgres: while nobody follows, commits are counted and have no rows; who follows later begins behind them', () =>
  withPair(async (pair) => {
    const { db, feed } = pair.primary
    let rid = 0
    let before = -1
    // Rows end with the first beat that finds no follower.
    await until(
      async () => {
        before = await rowsOf(pair)
        rid += 1
        await publish(db, rid)
        return (await rowsOf(pair)) === before
      },
      WAIT_MS,
      'commits without rows',
    )
    await Promise.all(numbers(1_000, 1_050).map((one) => publish(db, one)))
    assert.is(await rowsOf(pair), before)
    const [mark] = await pair.ask('SELECT seq::int FROM cluster_mark')
    assert.is(mark!.seq, feed.status!.seq)
    const place = await pair.follow()
    assert.equal(place.heard.commits, [])
  }))

test('postgres: a row that is missing is a gap, and what follows is told', () =>
  withPair(async (pair) => {
    const place = await pair.follow()
    await whenTold(pair, place, 1)
    const { db, feed } = pair.primary
    const gaps = place.heard.gaps.length
    // Removed in the commit behind it, so that no look comes between.
    await pair.ask(
      `CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF new.seq = ${feed.status!.seq + 1} THEN RETURN NULL; END IF; RETURN new; END $$`,
    )
    await pair.ask('CREATE TRIGGER lose BEFORE INSERT ON cluster_change FOR EACH ROW EXECUTE FUNCTION lose()')
    await publish(db, 500_001)
    await until(() => place.heard.gaps.length === gaps + 1, WAIT_MS, 'the gap')
    assert.is(place.heard.gaps.at(-1)!.seq, feed.status!.seq)
    await publish(db, 500_002)
    await until(() => place.heard.rids().includes(500_002), WAIT_MS, 'what follows')
    assert.not.ok(place.heard.rids().includes(500_001))
    assert.is(place.heard.gaps.length, gaps + 1)
  }))

test('postgres: an epoch that is not known is a gap: the database was restored', () =>
  withPair(async (pair) => {
    const place = await pair.follow()
    await whenTold(pair, place, 1)
    const gaps = place.heard.gaps.length
    await pair.ask("UPDATE cluster_epoch SET term = 'another'")
    await until(() => place.heard.gaps.length === gaps + 1, WAIT_MS, 'the gap')
  }))

test('postgres: a commit that no server tells the primary of, because its connection was lost, is a gap there too', () =>
  withPair(async (pair) => {
    const { db, feed, heard } = pair.primary
    await publish(db, 1)
    // What the lost connection would have committed.
    await pair.ask('UPDATE cluster_mark SET seq = seq + 1')
    await publish(db, 2)
    await until(() => heard.gaps.length === 1, WAIT_MS, 'the gap')
    assert.equal(heard.rids(), [1, 2])
    assert.is(heard.gaps[0]!.seq + 1, feed.status!.seq)
    await pair.ask('UPDATE cluster_mark SET seq = seq + 1')
    await until(() => heard.gaps.length === 2, WAIT_MS, 'the gap that no commit follows')
  }))

test('postgres: a database of a build without the feed is taken over, and gets its tables', async () => {
  const fresh = await postgresKind.fresh()
  await (await open(fresh.settings)).kernel.stop()
  const client = new pg.Client((fresh.settings.database as { postgres_url: string }).postgres_url)
  await client.connect()
  await client.query(`DROP TABLE cluster_change, cluster_member; ALTER TABLE cluster_lease DROP COLUMN durable, DROP COLUMN at;
    DELETE FROM migration WHERE name = 'database/0004-change'; UPDATE cluster_lease SET released = 0`)
  const place = await open(fresh.settings)
  await publish(place.db, 1)
  assert.equal(place.heard.rids(), [1])
  assert.is((await client.query('SELECT FROM cluster_change')).rowCount, 1)
  await client.end()
  await place.kernel.stop()
  await fresh.remove()
})

test('postgres: a follower that is stopped is no member any more', () =>
  withPair(async (pair) => {
    const place = await pair.follow()
    assert.is((await pair.ask('SELECT FROM cluster_member')).length, 1)
    await place.kernel.stop()
    assert.is((await pair.ask('SELECT FROM cluster_member')).length, 0)
  }))

test.run()
