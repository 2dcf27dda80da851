/** The kind of job that rebuilds the search index, and its start by a command. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock, Random } from '../../kernel/index.ts'
import type { Database } from '../database/service.ts'
import { type JobRow, type Jobs, newJobId, type RunningJob } from '../jobs/service.ts'
import type { Reindexing, ReindexScope } from '../search/service.ts'
import { ReindexNotDone } from './errors.ts'
import type { ReindexJobs, ReindexWatch } from './service.ts'

export const REINDEX_KIND = 'reindex'
const LOOK_MS = 250 // between two reads of its job by a command
const OFFER_MS = 12_000 // without a beat; servers look for jobs, and beat while they work, every three seconds
const DONE = /^reindexed (\d+)$/

export interface ReindexJobsParts {
  readonly database: Database
  readonly jobs: Jobs
  readonly reindexing: Reindexing
  readonly clock: Clock
  readonly random: Random
  /** Whether this process answers searches. */
  readonly isServed: boolean
}

const specOf = ({ type, param }: ReindexScope): string => JSON.stringify({ type, param })

export const createReindexJobs = (parts: ReindexJobsParts): ReindexJobs => {
  const { database, jobs, reindexing, clock, random, isServed } = parts
  /** Listeners of commands that work on their job themselves, by its id. */
  const watches = new Map<string, ReindexWatch>()
  /** Errors of these listeners. Such an error ends the command; its job is released, and the start does not count. */
  const failures = new Map<string, { readonly error: unknown }>()

  const run = async (job: RunningJob): Promise<void> => {
    const watch = watches.get(job.id)
    const showing = (show: () => void): void => {
      try {
        show()
      } catch (error) {
        failures.set(job.id, { error })
      }
    }
    /** Resolves when the command has noticed the failure and ended this attempt. */
    const ending = (): Promise<void> =>
      new Promise((resolve) => {
        if (job.signal.aborted) resolve()
        else job.signal.addEventListener('abort', () => resolve(), { once: true })
      })
    const { resources } = await reindexing.reindex(
      JSON.parse(job.spec) as ReindexScope,
      {
        resumed: () => showing(() => watch?.resumed?.()),
        waiting(ms) {
          job.report(`waiting ${ms / 1000} s until servers notice that such searches are refused`)
          showing(() => watch?.waiting?.(ms))
        },
        step(step) {
          job.report(`${step.type}: ${step.done} of ${step.total} resources`)
          showing(() => watch?.step?.(step))
        },
        async pause() {
          if (failures.has(job.id)) await ending()
          await job.pause()
        },
      },
      { id: job.id, isServed },
    )
    job.report(`reindexed ${resources}`)
    // Stores the report.
    await job.write(() => undefined)
  }
  jobs.add({ kind: REINDEX_KIND, run })

  const begin = async (scope: ReindexScope): Promise<string> => {
    const spec = specOf(scope)
    const found = (await jobs.listOpen(REINDEX_KIND)).find((job) => job.spec === spec)
    if (found !== undefined) return found.id
    const id = newJobId(random)
    const job = { id, kind: REINDEX_KIND, client: '', person: '', spec, ruling: '[]', upto: 0 }
    await database.transact((transaction) => jobs.enqueue(transaction, job))
    return id
  }
  return {
    async run(scope, watch) {
      await reindexing.checkScope(scope)
      const id = await begin(scope)
      watches.set(id, watch)
      let close: (() => Promise<void>) | undefined
      const work = (): void => {
        close ??= jobs.open(REINDEX_KIND)
      }
      const isShared = await database.isShared()
      if (isShared) watch.offered?.()
      else work()
      let since = clock.monotonic()
      let beat = -1
      let shown = ''
      try {
        for (;;) {
          const failure = failures.get(id)
          if (failure !== undefined) throw failure.error
          const job = await jobs.find(id)
          const ended = job === undefined ? undefined : endOf(job)
          if (ended !== undefined) return ended
          if (job !== undefined && job.beat !== beat) {
            beat = job.beat
            since = clock.monotonic()
          }
          if (clock.monotonic() - since > OFFER_MS) work()
          if (close === undefined && job !== undefined && job.progress !== shown) {
            shown = job.progress
            watch.elsewhere?.(shown)
          }
          await sleep(LOOK_MS)
        }
      } finally {
        await close?.()
        watches.delete(id)
        failures.delete(id)
      }
    },
  }
}

/** Undefined while the job runs. Throws `ReindexNotDone`. */
const endOf = ({ id, state, progress, error }: JobRow): { readonly resources: number } | undefined => {
  if (state === 'queued' || state === 'running') return undefined
  if (state === 'finished') return { resources: Number(DONE.exec(progress)?.[1] ?? 0) }
  throw ReindexNotDone(id, state, error || 'somebody has ended it')
}
