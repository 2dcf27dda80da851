/** Puts the service together: the table, the runner, cancellation and cleaning. */
import { type Clock, every, type Logger, type Random, type Repeating } from '../../kernel/index.ts'
import { type Database, ownProcess } from '../database/service.ts'
import { SHARED } from './attempt.ts'
import { move } from './move-job.ts'
import { createRunner } from './runner.ts'
import type { JobKind, Jobs } from './service.ts'
import {
  countOpen,
  deleteJob,
  insertJob,
  type JobRow,
  listNewest,
  readExpired,
  readGivenUp,
  readJob,
  readOpen,
} from './tables.ts'
import type { Times } from './times.ts'

export interface JobsParts {
  readonly database: Database
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly times: Times
  /** False in a command, which has the kinds of some plugins only: it leaves rows of others alone. */
  readonly cleans: boolean
}

export interface OwnJobs {
  readonly service: Jobs
  start(): Promise<void>
  handOver(): Promise<void>
  stop(): Promise<void>
}

const ENDED: ReadonlySet<string> = new Set(['finished', 'failed', 'cancelled'])

export const createJobs = ({ database, clock, random, log, times, cleans }: JobsParts): OwnJobs => {
  const kinds = new Map<string, JobKind>()
  const runner = createRunner({ database, clock, log, times, self: ownProcess(random.id(), ''), kinds })
  const find = async (id: string): Promise<JobRow | undefined> => database.get<JobRow>(readJob, [id])

  const remove = async (id: string, kind: string): Promise<boolean> => {
    const isDeleted = await database.transact(async (transaction) => {
      if ((await transaction.get(deleteJob, [id])) === undefined) return false
      await kinds.get(kind)?.forget?.(transaction, id)
      return true
    }, SHARED)
    if (isDeleted) await kinds.get(kind)?.discard?.(id)
    return isDeleted
  }
  const clean = async (): Promise<void> => {
    const expired = await database.all<Pick<JobRow, 'id' | 'kind'>>(readExpired, [clock.now()])
    for (const { id, kind } of expired) await remove(id, kind)
    // A command that cancels a job has no kinds, and a server may have ended before it discarded the files.
    for (const { id, kind } of await database.all<Pick<JobRow, 'id' | 'kind'>>(readGivenUp, []))
      await kinds.get(kind)?.discard?.(id)
    for (const kind of kinds.values()) await kind.sweep?.(async (id) => (await find(id)) !== undefined)
  }
  let cleaning: Repeating | undefined

  const service: Jobs = {
    add: (kind) =>
      void kinds.set(kind.kind, {
        ...kind,
        // The job has ended; `sweep` removes later what could not be removed now.
        discard: async (id) => {
          await kind
            .discard?.(id)
            ?.catch((error) => log.warn({ err: error, job: id }, 'files of a job could not be removed'))
        },
      }),
    open: runner.open,
    enqueue: (transaction, { id, kind, client, person, spec, ruling, upto }) =>
      transaction.run(insertJob, [id, kind, client, person, spec, ruling, upto, clock.now()]),
    wake: runner.wake,
    find,
    async listOpen(kind) {
      return (await database.all<JobRow>(readOpen, [])).filter((row) => row.kind === kind)
    },
    listNewest: async (limit, after = undefined) =>
      database.all<JobRow>(listNewest, [after ?? null, after ?? null, limit]),
    async countOpen(transaction, { kind, client, person }) {
      await transaction.hold(`jobs ${kind} ${client} ${person}`)
      return Number((await transaction.get<{ n: number }>(countOpen, [kind, client, person]))?.n ?? 0)
    },
    async cancel(id) {
      const now = clock.now()
      const before = await database.transact(async (transaction) => {
        const row = await transaction.get<JobRow>(readJob, [id])
        if (row === undefined || ENDED.has(row.state)) return undefined
        const { state, server, starts } = row
        const to = { state: 'cancelled', ended: now, expires: now + times.kept } as const
        return (await move(transaction, { id, state, server, starts }, to)) ? row : undefined
      }, SHARED)
      // Its state may have changed between the two statements; on another server only.
      if (before === undefined) return ENDED.has((await find(id))?.state ?? 'failed') ? false : service.cancel(id)
      // Another server that works on it notices with its next beat, or is gone.
      if (!(await runner.cancelled(id))) await kinds.get(before.kind)?.discard?.(id)
      return true
    },
    async remove(id) {
      const row = await find(id)
      return row !== undefined && ENDED.has(row.state) && remove(id, row.kind)
    },
  }
  return {
    service,
    async start() {
      runner.start()
      if (!cleans) return
      cleaning = every(clock, times.clean, clean, (error) => log.warn({ err: error }, 'jobs could not be cleaned up'))
    },
    handOver: runner.stop,
    async stop() {
      await runner.stop()
      await cleaning?.stop()
    },
  }
}
