/** Takes jobs and works on them, one at a time. */
import { type Clock, every, type Logger, type Repeating } from '../../kernel/index.ts'
import type { Database, OwnProcess } from '../database/service.ts'
import { type Attempt, beginAttempt, SHARED } from './attempt.ts'
import { createLeaseWatch } from './lease-watch.ts'
import { move, type To } from './move-job.ts'
import { toServerText } from './server-text.ts'
import type { JobKind } from './service.ts'
import { type JobRow, readOpen } from './tables.ts'
import { MAX_STARTS, type Times } from './times.ts'

const TOO_OFTEN = 'The job was started three times without finishing.'

export interface RunnerParts {
  readonly database: Database
  readonly clock: Clock
  readonly log: Logger
  readonly self: OwnProcess
  readonly times: Times
  readonly kinds: ReadonlyMap<string, JobKind>
}

export interface Runner {
  start(): void
  /** Works on jobs of this kind until the function that it returns is called. */
  open(kind: string): () => Promise<void>
  wake(): void
  /** Resolves when an attempt at this job by this server has ended; at once where there is none. */
  cancelled(id: string): Promise<boolean>
  stop(): Promise<void>
}

export const createRunner = ({ database, clock, log, self, times, kinds }: RunnerParts): Runner => {
  const own = toServerText(self)
  const watch = createLeaseWatch(clock, times.lease, self, own, database.kind !== 'postgres')
  const opened = new Set<string>()
  let current: { readonly attempt: Attempt; readonly kind: string } | undefined
  let looking: Repeating | undefined
  let isStopping = false
  /** A job was added while this server looked: it looks once more. */
  let isWoken = false

  const moved = (row: JobRow, to: To): Promise<boolean> =>
    database.transact((transaction) => move(transaction, row, to), SHARED)

  const giveUp = async (row: JobRow): Promise<void> => {
    const now = clock.now()
    if (!(await moved(row, { state: 'failed', error: row.error || TOO_OFTEN, ended: now, expires: now + times.kept })))
      return
    log.warn({ job: row.id }, 'a job was started three times without finishing')
    await kinds.get(row.kind)?.discard?.(row.id)
  }
  const claim = async (row: JobRow): Promise<boolean> => {
    const kind = kinds.get(row.kind)
    if (kind === undefined || !opened.has(row.kind)) return false
    const starts = row.starts + 1
    if (!(await moved(row, { state: 'running', server: own, starts }))) return false
    const attempt = beginAttempt({ database, clock, log, times }, kind, {
      ...row,
      state: 'running',
      server: own,
      starts,
    })
    current = { attempt, kind: row.kind }
    void attempt.done.then((mayGoOn) => {
      current = undefined
      if (mayGoOn) wake()
    })
    if (isStopping || !opened.has(row.kind)) attempt.stop()
    return true
  }
  const look = async (): Promise<void> => {
    isWoken = false
    const open = await database.all<JobRow>(readOpen, [])
    const lapsed = watch.lapsed(open.filter(({ id, state }) => state === 'running' && id !== current?.attempt.id))
    const free = open.filter((row) => row.state === 'queued' || lapsed.includes(row))
    for (const row of free) {
      if (isStopping) return
      if (row.starts >= MAX_STARTS) await giveUp(row)
      else if (current === undefined) await claim(row)
    }
  }
  const warn = (error: unknown): void => log.warn({ err: error }, 'jobs could not be looked for; tried again')
  const wake = (): void => {
    isWoken = true
    if (isStopping) return
    looking?.now().then(() => {
      if (isWoken) wake()
    }, warn)
  }
  return {
    start() {
      looking = every(clock, times.look, look, warn)
      wake()
    },
    open(kind) {
      opened.add(kind)
      wake()
      return async () => {
        opened.delete(kind)
        if (current?.kind !== kind) return
        current.attempt.stop()
        await current.attempt.done
      }
    },
    wake,
    async cancelled(id) {
      if (current?.attempt.id !== id) return false
      const { attempt } = current
      attempt.cancelled()
      await attempt.done
      return true
    },
    async stop() {
      isStopping = true
      current?.attempt.stop()
      await looking?.stop()
      await current?.attempt.done
    },
  }
}
