/** X-Snapshot stands for commits that are on disk: those that wait for the disk together are not among them. */
// database: postgres, where a commit can be seen before it is on disk
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import cluster from '../../../plugins/cluster/index.ts'
import { ChangeFeed, type CommitParticipant, Database, sql } from '../../../plugins/database/service.ts'
import smart from '../../../plugins/smart/index.ts'
import { startPostgres } from '../../support/postgres.ts'
import { basic, serverWith } from '../../support/server-with.ts'
import { until } from '../../support/until.ts'

const WAIT_MS = 20_000
const BEHIND = 3 // transactions in the queue behind the first one

const look = sql('test.look', 'SELECT 1 AS one')
const touch = sql('test.touch', 'DELETE FROM cluster_member WHERE server = ?')
/** As the audit trail: transactions of a participant commit one after the other. An item is waited for before COMMIT. */
const participant: CommitParticipant<() => Promise<void>> = {
  beforeCommit: async (_transaction, items) => {
    for (const item of items) await item()
  },
  finished: () => undefined,
  refuse: (cause) => cause as never,
}
const createGate = () => {
  const { promise: opened, resolve: open } = Promise.withResolvers<void>()
  const { promise: reached, resolve: reach } = Promise.withResolvers<void>()
  const pass = async (): Promise<void> => {
    reach()
    await opened
  }
  return { pass, open, reached }
}

test('while commits wait for the disk, none of them counts for X-Snapshot', async () => {
  const postgres = await startPostgres()
  await postgres.createDatabase('disk')
  const server = await serverWith({
    plugins: [...basic, smart, cluster],
    settings: {
      database: { kind: 'postgres', postgres_url: postgres.url(undefined, 'disk') },
      conformance: { update_as_create: true },
    },
  })
  const put = async (family: string): Promise<number> => {
    const headers = { 'content-type': 'application/fhir+json' }
    const payload = JSON.stringify({ resourceType: 'Patient', id: 'p', name: [{ family }] })
    const answer = await server.inject({ method: 'PUT', url: '/Patient/p', headers, payload })
    assert.ok(answer.statusCode < 300, answer.body)
    return Number(String(answer.headers['x-snapshot']).split('-')[2])
  }
  const [feed, database] = [server.get(ChangeFeed), server.get(Database)]
  const publish = (item: () => Promise<void> = async () => undefined): Promise<void> =>
    database.transact(async (transaction) => {
      await transaction.get(look, [])
      await transaction.run(touch, ['nobody'])
      transaction.beforeCommit(participant, item)
      transaction.publish({ about: 'job' })
    })
  /** COMMIT waits for a standby of PostgreSQL that is not there, as it waits for a disk. */
  const wait = (names: string) =>
    postgres.admin(`ALTER SYSTEM SET synchronous_standby_names = '${names}'`, 'SELECT pg_reload_conf()')
  const countQueued = async (): Promise<number> =>
    Number(
      (
        await postgres.admin(
          "SELECT count(*) AS n FROM pg_stat_activity WHERE state = 'idle in transaction' AND query LIKE 'DELETE FROM cluster_member%'",
        )
      )[0]?.n,
    )
  const before = await put('before')
  const [first, second] = [createGate(), createGate()]
  const published = [publish(first.pass)]
  await first.reached
  published.push(publish(second.pass), publish(), publish())
  await until(async () => (await countQueued()) === 1 + BEHIND, WAIT_MS, 'transactions in the queue')
  // The first one is on disk with its COMMIT. The next two have others behind them, and leave the disk to the last one.
  first.open()
  await second.reached
  await wait('nobody')
  second.open()
  await until(() => (feed.status?.lag ?? 0) > 0, WAIT_MS, 'commits that are not on disk')
  assert.equal([feed.status?.seq, database.status().lease?.seq], [before + 1, before + 1])
  await wait('')
  await Promise.all(published)
  assert.is(database.status().lease?.seq, before + 1 + BEHIND)
  assert.is(await put('after'), before + 2 + BEHIND)
  await server.stop()
  await postgres.stop()
})

test.run()
