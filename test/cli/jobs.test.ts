/** `server jobs`: lists, shows and cancels, on a file that no server has open, and beside a server on PostgreSQL. */
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createKernel, definePlugin } from '../../kernel/index.ts'
import { Database } from '../../plugins/database/service.ts'
import jobs from '../../plugins/jobs/index.ts'
import { Jobs, type RunningJob } from '../../plugins/jobs/service.ts'
import { postgresKind } from '../support/database-kinds.ts'
import { basic } from '../support/server-with.ts'
import { until } from '../support/until.ts'
import { createWorld, type Ran } from '../support/world.ts'

const running: RunningJob[] = []
const endless = definePlugin({
  name: 'endless',
  needs: { jobs: Jobs },
  setup({ needs }) {
    needs.jobs.add({
      kind: 'endless',
      run(job) {
        running.push(job)
        return new Promise<void>((_resolve, reject) =>
          job.signal.addEventListener('abort', () => reject(job.signal.reason)),
        )
      },
    })
    return { start: async () => void needs.jobs.open('endless') }
  },
})
const plugins = [...basic, jobs, endless]
const ID = 'a'.repeat(32)

const startOn = async (database: Record<string, unknown>) => {
  const kernel = await createKernel({ plugins, settings: { database }, log: { level: 'silent' } })
  await kernel.start()
  const job = { id: ID, kind: 'endless', client: 'app', person: '', spec: '{"what":"all"}', ruling: '[]', upto: 0 }
  await kernel.get(Database).transact((transaction) => kernel.get(Jobs).enqueue(transaction, job))
  kernel.get(Jobs).wake()
  await until(() => running.at(-1)?.id === ID, 5_000, 'the job to be worked on')
  return kernel
}

test('a job of a file is listed and shown beside its server, and cancelled when that is gone', async () => {
  const world = createWorld()
  const path = join(world.folder, 'a.sqlite')
  const run = (...argv: string[]): Promise<Ran> =>
    createWorld({ plugins, folder: world.folder, argv: ['jobs', ...argv, '--sqlite', path] }).run()
  const kernel = await startOn({ kind: 'sqlite', sqlite_path: path })
  try {
    const { code, stdout } = await run('list')
    assert.is(code, 0)
    const { created: _created, ...line } = JSON.parse(stdout)
    assert.equal(line, { id: ID, kind: 'endless', state: 'running', client: 'app', starts: 1 })
    assert.equal(JSON.parse((await run('show', ID)).stdout).spec, { what: 'all' })
    const beside = await run('cancel', ID)
    assert.is(beside.code, 1)
    assert.match(beside.stderr, /^server: Another process has .* open; [^\n]+\n$/)
    await kernel.stop()
    assert.is(JSON.parse((await run('show', ID)).stdout).state, 'queued')
    assert.is((await run('cancel', ID)).code, 0)
    assert.is(JSON.parse((await run('show', ID)).stdout).state, 'cancelled')
    assert.is((await run('cancel', ID)).code, 1)
    assert.is((await run('show', 'x')).code, 1)
    assert.is((await run('show')).code, 2)
    assert.is((await run('list', ID)).code, 2)
  } finally {
    await kernel.stop()
    world.remove()
  }
})

test('a job of a running server on PostgreSQL is cancelled, and its work ends', async () => {
  const place = await postgresKind.fresh(plugins)
  const { postgres_url: url } = place.settings.database as { postgres_url: string }
  const kernel = await startOn({ kind: 'postgres', postgres_url: url })
  try {
    const { code, stderr } = await createWorld({ plugins, argv: ['jobs', 'cancel', ID, '--postgres', url] }).run()
    assert.is(code, 0, stderr)
    await until(() => running.at(-1)?.signal.aborted === true, 6_000, 'the work to end')
  } finally {
    await kernel.stop()
    await place.remove()
  }
})

test.run()
