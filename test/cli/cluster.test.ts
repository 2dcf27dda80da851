/** `server cluster`: the servers of a database, what it prints and how it exits. */
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type AnyPlugin, createKernel, type Kernel } from '../../kernel/index.ts'
import cluster from '../../plugins/cluster/index.ts'
import { makeDatabasePlugin } from '../../plugins/database/database-plugin.ts'
import database from '../../plugins/database/index.ts'
import { ChangeFeed, Database, sql } from '../../plugins/database/service.ts'
import { postgresKind } from '../support/database-kinds.ts'
import { basic } from '../support/server-with.ts'
import { until } from '../support/until.ts'
import { createWorld, type Ran } from '../support/world.ts'

const WAIT_MS = 10_000
const plugins = [...basic, cluster]
const replica = makeDatabasePlugin({ hasLease: true, follows: true })
const touch = sql('test.touch', "INSERT INTO database_pin (name, value) VALUES (?, '')")

const run = async (argv: readonly string[]): Promise<Ran> => {
  const place = createWorld({ plugins, argv: ['cluster', ...argv], environment: {} })
  try {
    return await place.run()
  } finally {
    place.remove()
  }
}
interface Line {
  readonly role: string
  readonly lag?: number
  readonly seq?: number
}

test('on PostgreSQL it lists primary, replicas and standbys with their places, and exits with 1 where nobody writes', async () => {
  const fresh = await postgresKind.fresh()
  const { postgres_url: url } = fresh.settings.database as { postgres_url: string }
  const make = (plugin: AnyPlugin): Promise<Kernel> =>
    createKernel({ plugins: [plugin], settings: fresh.settings, log: { level: 'silent' } })
  const ask = () => run(['--json', '--postgres', url])
  const before = await ask()
  assert.is(before.code, 2, 'no server has made the database')

  const first = await make(database)
  await first.start()
  const follower = await make(replica)
  await follower.start()
  const second = await make(database)
  const waiting = second.start()
  const lines = async (): Promise<readonly Line[]> => JSON.parse((await ask()).stdout).servers
  await until(async () => (await lines()).length === 3, WAIT_MS, 'three servers')
  for (let n = 0; n < 3; n += 1)
    await first.get(Database).transact(async (transaction) => {
      await transaction.run(touch, [`test${n}`])
      transaction.publish({ about: 'job' })
    })
  await until(() => follower.get(ChangeFeed).status?.seq === 3, WAIT_MS, 'the follower')
  await until(async () => (await lines()).find(({ role }) => role === 'replica')?.lag === 0, WAIT_MS, 'its row')
  const found = JSON.parse((await ask()).stdout)
  assert.equal(
    found.servers.map(({ role, epoch, seq, lag, pid }: Line & Record<string, unknown>) => [role, epoch, seq, lag, pid]),
    [
      ['primary', 1, 3, undefined, process.pid],
      ['replica', 1, 3, 0, process.pid],
      ['standby', undefined, undefined, undefined, process.pid],
    ],
  )
  assert.is(found.epoch, 1)
  assert.is(found.seq, 3)
  assert.is(found.epochs.length, 1)
  assert.is(found.epochs[0].first, 1)
  const { code, stdout } = await run(['--postgres', url])
  assert.is(code, 0)
  assert.match(stdout, /^epoch 1, 3 commits\n\nROLE +HOST +PID +BUILD +EPOCH +COMMITS +LAG +SEEN +SERVER\nprimary /)
  assert.match(stdout, /\nreplica .* 1 +3 +0 +[\d.]+ s ago /)
  assert.match(stdout, /\nstandby .* - +- +- +[\d.]+ s ago /)

  await first.stop()
  await waiting
  await until(async () => (await lines()).length === 2, WAIT_MS, 'the standby to be the primary')
  assert.equal(
    (await lines()).map(({ role }) => role),
    ['primary', 'replica'],
  )
  await Promise.all([second.stop(), follower.stop()])
  const after = await ask()
  assert.is(after.code, 1)
  assert.equal(JSON.parse(after.stdout).servers, [])
  assert.is(JSON.parse(after.stdout).epochs.length, 2)
  await fresh.remove()
})

test('on SQLite it tells whether a server has the file open', async () => {
  const place = createWorld({ plugins, argv: [] })
  const path = join(place.folder, 'a.sqlite')
  assert.is((await run(['--sqlite', path])).code, 2, 'there is no file')
  const kernel = await createKernel({
    plugins: [database],
    settings: { database: { kind: 'sqlite', sqlite_path: path } },
    log: { level: 'silent' },
  })
  await kernel.start()
  const open = await run(['--json', '--sqlite', path])
  assert.equal([open.code, JSON.parse(open.stdout)], [0, { isOpen: true }])
  await kernel.stop()
  const closed = await run(['--sqlite', path])
  assert.equal([closed.code, closed.stdout], [1, 'no server has the file open\n'])
  place.remove()
})

test.run()
