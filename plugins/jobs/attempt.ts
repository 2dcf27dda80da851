/** One attempt at a job: its beats, its fence, and how it ends. */
import { type Clock, every, isServerError, type Logger } from '../../kernel/index.ts'
import type { Database, MaybePromise, Transaction } from '../database/service.ts'
import { JobLost } from './errors.ts'
import { type From, move, type To } from './move-job.ts'
import { createPace, type Pace } from './pace.ts'
import type { JobKind, RunningJob } from './service.ts'
import { beatJob, type JobRow, readJob } from './tables.ts'
import { MAX_STARTS, type Times } from './times.ts'

export const SHARED = Object.freeze({ shared: true })
const PROGRESS = 99 // characters: fewer than a hundred go into X-Progress
const FAILED = 'The work could not be done. The log of the server says why.'

export interface AttemptParts {
  readonly database: Database
  readonly clock: Clock
  readonly log: Logger
  readonly times: Times
  readonly pace?: Pace
}

export interface Attempt {
  readonly id: string
  /**
   * Resolves when it has ended and its end is stored, or cannot be; with false when it failed, so that the next attempt
   * waits a little. Never rejects.
   */
  readonly done: Promise<boolean>
  /** The job was cancelled in the database. */
  cancelled(): void
  /** Ends it and gives its start back. */
  stop(): void
}

type End = 'cancelled' | 'lost' | 'stopping'

/** `row`: as it was claimed, with this server and the number of this start. */
export const beginAttempt = (
  { database, clock, log, times, pace = createPace() }: AttemptParts,
  kind: JobKind,
  row: JobRow,
): Attempt => {
  const { id, server, starts } = row
  const claimed: From = { id, state: 'running', server, starts }
  const controller = new AbortController()
  let end: End | undefined
  let progress = row.progress
  let confirmed = clock.monotonic()
  let sentLast = confirmed
  let isBeating = false

  const stopFor = (reason: End): void => {
    end ??= reason
    controller.abort(JobLost())
  }
  const fence = (transaction: Transaction): MaybePromise<unknown> =>
    transaction.get(beatJob, [progress, id, server, starts])
  const beat = async (): Promise<void> => {
    const sent = clock.monotonic()
    sentLast = sent
    isBeating = true
    try {
      if ((await database.transact(fence, SHARED)) !== undefined) {
        confirmed = sent
        return
      }
      const found = await database.get<JobRow>(readJob, [id])
      stopFor(found === undefined || found.state === 'cancelled' ? 'cancelled' : 'lost')
    } catch (error) {
      log.debug({ err: error, job: id }, 'the beat of a job could not be stored')
    } finally {
      isBeating = false
    }
  }
  const checkTrust = (): void => {
    if (clock.monotonic() - confirmed > times.trust) stopFor('lost')
  }
  const ticks = every(
    clock,
    times.check,
    async () => {
      checkTrust()
      if (end === undefined && !isBeating && clock.monotonic() - sentLast >= times.beat) void beat()
    },
    () => undefined,
  )
  const throwIfEnded = (): void => {
    checkTrust()
    controller.signal.throwIfAborted()
  }
  const job: RunningJob = {
    ...{ id, client: row.client, person: row.person, spec: row.spec, ruling: row.ruling, upto: row.upto },
    attempt: starts,
    signal: controller.signal,
    async write(work) {
      throwIfEnded()
      const sent = clock.monotonic()
      const result = await database.transact(async (transaction) => {
        if ((await fence(transaction)) === undefined) throw JobLost()
        return work(transaction)
      }, SHARED)
      confirmed = sent
      return result
    },
    report(text) {
      progress = text.slice(0, PROGRESS)
    },
    pause() {
      throwIfEnded()
      return pace.pause()
    },
    resume: pace.resume,
    async fence(transaction) {
      throwIfEnded()
      if ((await fence(transaction)) === undefined) throw JobLost()
    },
  }

  const store = async (to: To): Promise<void> => {
    await database.transact((transaction) => move(transaction, claimed, to), SHARED)
  }
  const ended = () => {
    const now = clock.now()
    return { ended: now, expires: now + times.kept }
  }
  const discard = async (): Promise<void> => {
    await kind.discard?.(id)
  }
  const settle = async (failure: unknown): Promise<void> => {
    if (end === 'cancelled') return discard()
    if (end === 'lost') return
    if (end === 'stopping') return store({ state: 'queued', starts: starts - 1 })
    if (failure === undefined) return store({ state: 'finished', ...ended() })
    const error = isServerError(failure) ? failure.message : FAILED
    log.warn({ err: failure, job: id, attempt: starts }, 'an attempt at a job failed')
    if (starts < MAX_STARTS) return store({ state: 'queued', error })
    await store({ state: 'failed', error, ...ended() })
    await discard()
  }
  const work = async (): Promise<boolean> => {
    let failure: unknown
    try {
      await kind.run(job)
    } catch (error) {
      failure = error ?? new Error('the work ended without a reason')
      // The fence refuses a write before a beat has found out.
      if (end === undefined && isServerError(error) && error.key === JobLost.key) await beat()
      if (end === undefined && isServerError(error) && error.key === JobLost.key) stopFor('lost')
    }
    try {
      await ticks.stop()
      await settle(failure)
    } catch (error) {
      // Its lease runs out, and the next attempt finds what was stored.
      log.warn({ err: error, job: id }, 'the end of a job could not be stored')
      return false
    }
    return failure === undefined || end !== undefined
  }
  return { id, done: work(), cancelled: () => stopFor('cancelled'), stop: () => stopFor('stopping') }
}
