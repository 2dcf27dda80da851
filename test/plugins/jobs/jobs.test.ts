/** Durable jobs: states, leases, fencing, attempts, cancellation, cleaning. Rows K21, K22, K24 and K25 by their parts. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type AnyPlugin, createKernel, defineError, definePlugin, type Kernel } from '../../../kernel/index.ts'
import { Database, sql } from '../../../plugins/database/service.ts'
import jobs from '../../../plugins/jobs/index.ts'
import { type JobKind, type JobRow, Jobs, type RunningJob } from '../../../plugins/jobs/service.ts'
import { databaseKinds } from '../../support/database-kinds.ts'
import { createManualClock, type ManualClock } from '../../support/manual-clock.ts'
import { until } from '../../support/until.ts'
import { writersTogether } from '../../support/writers-together.ts'

const NoRoom = defineError('test/no-room', 507, 'no-store', 'There is no room.')
const WAIT_MS = 5_000
const ELSEWHERE = JSON.stringify({ server: 'other', host: 'another-machine', boot: 'b', pid: 1 })
const setRow = sql('test.set', 'UPDATE job SET state = ?, server = ?, starts = ?, beat = ? WHERE id = ?')
const stealRow = sql('test.steal', 'UPDATE job SET starts = starts + 1, server = ? WHERE id = ?')

interface Bench {
  readonly kernel: Kernel
  readonly clock: ManualClock
  readonly service: Jobs
  readonly runs: RunningJob[]
  readonly discarded: string[]
  /** Ends the work of the newest attempt. */
  finish(error?: unknown): void
  add(id: string): Promise<void>
  row(id: string): Promise<JobRow>
  /** Second by second, with time for the database. */
  pass(seconds: number): Promise<void>
}

for (const kind of databaseKinds()) {
  const withBench = async (work: (bench: Bench, more: () => Promise<Bench>) => Promise<void>): Promise<void> => {
    const place = await kind.fresh([writersTogether, jobs])
    const clock = createManualClock()
    const benches: Bench[] = []
    const open = async (): Promise<Bench> => {
      const runs: RunningJob[] = []
      const discarded: string[] = []
      let end: { resolve(): void; reject(error: unknown): void } | undefined
      const own: JobKind = {
        kind: 'test',
        run(job) {
          runs.push(job)
          return new Promise<void>((resolve, reject) => {
            end = { resolve, reject }
            job.signal.addEventListener('abort', () => reject(job.signal.reason))
          })
        },
        discard: async (id) => void discarded.push(id),
      }
      const plugin: AnyPlugin = definePlugin({
        name: 'test-kind',
        needs: { jobs: Jobs },
        setup({ needs }) {
          needs.jobs.add(own)
          return { start: async () => void needs.jobs.open('test') }
        },
      })
      const kernel = await createKernel({
        plugins: [writersTogether, jobs, plugin],
        settings: place.settings,
        clock,
        log: { level: 'silent' },
      })
      await kernel.start()
      const database = kernel.get(Database)
      const service = kernel.get(Jobs)
      const bench: Bench = {
        ...{ kernel, clock, service, runs, discarded },
        finish: (error) => (error === undefined ? end?.resolve() : end?.reject(error)),
        async add(id) {
          const job = { id, kind: 'test', client: 'c', person: '', spec: '{}', ruling: '[]', upto: 5 }
          await database.transact((transaction) => service.enqueue(transaction, job))
          service.wake()
        },
        row: async (id) => (await service.find(id)) as JobRow,
        async pass(seconds) {
          for (let n = 0; n < seconds; n += 1) {
            await clock.advance(1_000)
            // A round trip on each session that a beat or a look may be on.
            await database.transact(
              async (transaction) => void (await transaction.get(sql('test.one', 'SELECT 1 AS one'), [])),
            )
            await new Promise((resolve) => setTimeout(resolve, 2))
          }
        },
      }
      benches.push(bench)
      return bench
    }
    try {
      await work(await open(), open)
    } finally {
      for (const { kernel } of benches) await kernel.stop()
      await place.remove()
    }
  }
  const hasState = (bench: Bench, id: string, state: string): Promise<void> =>
    until(async () => (await bench.row(id))?.state === state, WAIT_MS, `the job to be ${state}`)
  const hasRuns = (bench: Bench, count: number): Promise<void> =>
    until(() => bench.runs.length === count, WAIT_MS, `attempt ${count}`)
  const rewrite = (bench: Bench, ...params: readonly (string | number)[]): Promise<void> =>
    bench.kernel.get(Database).transact((transaction) => transaction.run(setRow, params))

  test(`${kind.name}: a job is worked on once, tells how far it is, and is finished`, () =>
    withBench(async (bench) => {
      await bench.add('one')
      await hasRuns(bench, 1)
      assert.is(bench.runs[0]?.attempt, 1)
      bench.runs[0]?.report('half')
      await bench.pass(4)
      await until(async () => (await bench.row('one')).progress === 'half', WAIT_MS, 'the progress')
      bench.finish()
      await hasState(bench, 'one', 'finished')
      const { ended, expires } = await bench.row('one')
      assert.is(Number(expires) - Number(ended), 86_400_000)
      await bench.pass(40)
      assert.is(bench.runs.length, 1)
    }))

  test(`${kind.name}: an attempt that fails is repeated, the third failure is the last, and its message stays`, () =>
    withBench(async (bench) => {
      await bench.add('one')
      for (const n of [1, 2, 3]) {
        await hasRuns(bench, n)
        assert.is(bench.runs.at(-1)?.attempt, n)
        bench.finish(NoRoom())
        await until(async () => (await bench.row('one')).state !== 'running', WAIT_MS, 'the attempt to end')
        await bench.pass(4)
      }
      const { state, error, starts } = await bench.row('one')
      assert.equal([state, error, Number(starts)], ['failed', 'There is no room.', 3])
      assert.equal(bench.discarded, ['one'])
      await bench.pass(60)
      assert.is(bench.runs.length, 3)
    }))

  test(`${kind.name}: what went wrong inside is not shown`, () =>
    withBench(async (bench) => {
      await bench.add('one')
      await hasRuns(bench, 1)
      bench.finish(new Error('/secret/path'))
      await until(async () => (await bench.row('one')).error !== '', WAIT_MS, 'the error')
      assert.not.match((await bench.row('one')).error, /secret/)
    }))

  test(`${kind.name}: a graceful stop gives the start back`, () =>
    withBench(async (bench, more) => {
      await bench.add('one')
      await hasRuns(bench, 1)
      if (kind.name === 'memory') {
        assert.is((await bench.row('one')).state, 'running')
        return
      }
      await bench.kernel.stop()
      const next = await more()
      await hasRuns(next, 1)
      assert.is(next.runs[0]?.attempt, 1)
    }))

  test(`${kind.name}: a cancelled job stops at once, and what belongs to it is removed`, () =>
    withBench(async (bench) => {
      await bench.add('one')
      await hasRuns(bench, 1)
      assert.is(await bench.service.cancel('one'), true)
      assert.ok(bench.runs[0]?.signal.aborted)
      assert.equal(bench.discarded, ['one'])
      assert.is((await bench.row('one')).state, 'cancelled')
      assert.is(await bench.service.cancel('one'), false)
      assert.is(await bench.service.cancel('never'), false)
      await rejects(() => (bench.runs[0] as RunningJob).write(() => undefined))
    }))

  test(`${kind.name}: what a command cancelled is removed by the server that is started next, within a minute`, () =>
    withBench(async (bench) => {
      await bench.add('one')
      await until(() => bench.runs.length === 1, WAIT_MS, 'the job to be worked on')
      await bench.service.cancel('one')
      bench.discarded.length = 0
      await bench.pass(61)
      assert.equal([...new Set(bench.discarded)], ['one'])
    }))

  test(`${kind.name}: a job that was cancelled elsewhere stops within five seconds`, () =>
    withBench(async (bench) => {
      await bench.add('one')
      await hasRuns(bench, 1)
      const { server, starts, beat } = await bench.row('one')
      await rewrite(bench, 'cancelled', server, starts, beat, 'one')
      await bench.pass(5)
      await until(() => bench.discarded.length === 1, WAIT_MS, 'it to be removed')
      assert.ok(bench.runs[0]?.signal.aborted)
    }))

  test(`${kind.name}: a job is deleted a day after its end`, () =>
    withBench(async (bench) => {
      await bench.add('one')
      await hasRuns(bench, 1)
      bench.finish()
      await hasState(bench, 'one', 'finished')
      await bench.clock.leap(86_300_000)
      await bench.pass(2)
      assert.ok(await bench.row('one'))
      await bench.clock.leap(161_000)
      await until(async () => (await bench.row('one')) === undefined, WAIT_MS, 'the row to go')
      assert.equal(bench.discarded, ['one'])
    }))

  if (kind.name !== 'postgres') {
    // Whoever else had the file is gone, because this server has it.
    test(`${kind.name}: a job of a server that is gone is taken at once, and not after the third start`, () =>
      withBench(async (bench) => {
        await bench.add('one')
        await hasRuns(bench, 1)
        bench.finish()
        await hasState(bench, 'one', 'finished')
        await rewrite(bench, 'running', ELSEWHERE, 1, 7, 'one')
        await bench.pass(3)
        await hasRuns(bench, 2)
        assert.is(bench.runs[1]?.attempt, 2)
        bench.finish()
        await hasState(bench, 'one', 'finished')
        await rewrite(bench, 'running', ELSEWHERE, 3, 7, 'one')
        await bench.pass(3)
        await hasState(bench, 'one', 'failed')
        assert.match((await bench.row('one')).error, /three times/)
        assert.is(bench.runs.length, 2)
      }))
    continue
  }
  test('postgres: a job of another machine is taken after 30 seconds without a beat, whatever the wall clock says', () =>
    withBench(async (bench) => {
      await bench.add('one')
      await hasRuns(bench, 1)
      bench.finish()
      await hasState(bench, 'one', 'finished')
      await rewrite(bench, 'running', ELSEWHERE, 1, 7, 'one')
      await bench.pass(4)
      bench.clock.set(bench.clock.now() + 3_600_000)
      await bench.pass(20)
      await rewrite(bench, 'running', ELSEWHERE, 1, 8, 'one')
      await bench.pass(27)
      assert.is(bench.runs.length, 1)
      await bench.pass(9)
      await hasRuns(bench, 2)
      assert.is(bench.runs[1]?.attempt, 2)
    }))

  test('postgres: an attempt that another server has taken over writes nothing and leaves the row alone', () =>
    withBench(async (bench) => {
      await bench.add('one')
      await hasRuns(bench, 1)
      await bench.kernel.get(Database).transact((transaction) => transaction.run(stealRow, [ELSEWHERE, 'one']))
      let ran = false
      await rejects(() =>
        (bench.runs[0] as RunningJob).write(() => {
          ran = true
        }),
      )
      assert.is(ran, false)
      await bench.pass(5)
      await until(() => bench.runs[0]?.signal.aborted === true, WAIT_MS, 'the worker to stop')
      const { state, server, starts } = await bench.row('one')
      assert.equal([state, server, Number(starts)], ['running', ELSEWHERE, 2])
      assert.equal(bench.discarded, [])
    }))

  test('postgres: after the third start its lease has to run out, and then the job has failed for good', () =>
    withBench(async (bench, more) => {
      await bench.add('one')
      await hasRuns(bench, 1)
      bench.finish()
      await hasState(bench, 'one', 'finished')
      await rewrite(bench, 'running', ELSEWHERE, 3, 7, 'one')
      await bench.pass(20)
      assert.is((await bench.row('one')).state, 'running')
      await bench.pass(15)
      await hasState(bench, 'one', 'failed')
      const next = await more()
      await next.pass(40)
      assert.is(bench.runs.length + next.runs.length, 1)
    }))

  test('postgres: two servers never work on the same job, and a stopped one hands it over', () =>
    withBench(async (bench, more) => {
      const other = await more()
      for (const id of ['one', 'two', 'three']) await bench.add(id)
      await bench.pass(4)
      await until(() => bench.runs.length + other.runs.length === 2, WAIT_MS, 'both to work')
      assert.is.not(bench.runs[0]?.id, other.runs[0]?.id)
      const { id } = bench.runs[0] as RunningJob
      await bench.kernel.stop()
      other.finish()
      await until(() => other.runs.length === 2, WAIT_MS, 'the next one')
      other.finish()
      await until(() => other.runs.length === 3, WAIT_MS, 'the last one')
      assert.ok(other.runs.slice(1).some((run) => run.id === id && run.attempt === 1))
      other.finish()
    }))
}

const rejects = async (work: () => Promise<unknown>): Promise<void> => {
  let failed = false
  await work().catch(() => {
    failed = true
  })
  assert.ok(failed, 'it should have been refused')
}

test.run()
