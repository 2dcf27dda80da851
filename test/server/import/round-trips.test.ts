/** Imports on PostgreSQL: new resources are locked, written and committed together, and not in a round trip each. */
// database: postgres, the one kind where a question is a round trip
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createKernel, type Kernel } from '../../../kernel/index.ts'
import audit from '../../../plugins/audit/index.ts'
import importing from '../../../plugins/import/index.ts'
import { Importing } from '../../../plugins/import/service.ts'
import { temporaryFolder } from '../../support/database-kinds.ts'
import { type Postgres, startPostgres } from '../../support/postgres.ts'
import { countTrips } from '../../support/round-trips.ts'
import { basic } from '../../support/server-with.ts'
import { startTcpProxy, type TcpProxy } from '../../support/tcp-proxy.ts'

const RECORDS = 200 // of one transaction
const MAX_TRIPS = 40 // the transaction, its keys, the notes of the file, and what the server asks in the background

const folder = temporaryFolder()
let postgres: Postgres
let proxy: TcpProxy
let kernel: Kernel
test.before(async () => {
  postgres = await startPostgres()
  proxy = await startTcpProxy(postgres.port)
  await postgres.createDatabase('trips')
  const url = postgres.url(undefined, 'trips').replace(`:${postgres.port}`, `:${proxy.port}`)
  kernel = await createKernel({
    plugins: [...basic, audit, importing],
    settings: { database: { kind: 'postgres', postgres_url: url } },
    log: { level: 'silent' },
  })
  await kernel.start()
})
test.after(async () => {
  await kernel.stop()
  proxy.stop()
  await postgres.stop()
  folder.remove()
})

const write = (name: string, prefix: string, content: object = {}): string => {
  const path = join(folder.path, name)
  const records = Array.from({ length: RECORDS }, (_, at) => ({
    resourceType: 'Patient',
    id: `${prefix}${at}`,
    ...content,
  }))
  writeFileSync(path, records.map((one) => JSON.stringify(one)).join('\n'))
  return path
}
const run = (path: string) =>
  kernel.get(Importing).run({ paths: [path], isDryRun: false, isAgain: false, parallel: 4 }, {})

test('the resources of a batch that are new are not looked for one by one', async () => {
  // The first import prepares its statements.
  await run(write('first.ndjson', 'a'))
  const path = write('second.ndjson', 'b')
  proxy.taken()
  assert.is((await run(path)).resources, RECORDS)
  const trips = countTrips(proxy)
  assert.ok(trips < MAX_TRIPS, `${trips} round trips`)
})

test('imports that make the same resources at once all succeed, and each makes a version of each', async () => {
  const paths = Array.from({ length: 4 }, (_, at) => write(`same-${at}.ndjson`, 'c', { multipleBirthInteger: at + 1 }))
  const summaries = await Promise.all(paths.map(run))
  assert.equal(
    summaries.map(({ resources, failed }) => [resources, failed]),
    paths.map(() => [RECORDS, 0]),
  )
  for (const at of [0, 99, RECORDS - 1]) {
    const { meta } = (await kernel.inject(`/Patient/c${at}`)).json() as { meta: { versionId: string } }
    assert.is(meta.versionId, String(paths.length))
  }
})

test.run()
