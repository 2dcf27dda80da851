/**
 * The service `Jobs`: work that outlives the process that began it. One server works on a job at a time, and another one
 * takes it over. Spec: States and transitions, Export job.
 */
import { defineService } from '../../kernel/index.ts'
import type { MaybePromise, Transaction } from '../database/service.ts'
import type { JobRow } from './tables.ts'

export { auditRefusals } from './audit-refusals.ts'
export { begunAnswer } from './begun-answer.ts'
export { emitJobAudit } from './emit-job-audit.ts'
export { JobUnknown } from './errors.ts'
export { findOwnJob } from './find-own-job.ts'
export { isJobId, newJobId } from './job-id.ts'
export { callerOfJob, type Owner, ownerOf } from './owner.ts'
export { createPollLimit, type PollLimit } from './poll-limit.ts'
export { sendProgress } from './send-progress.ts'
export type { JobRow, JobState } from './tables.ts'

/** A job in the hands of a worker. */
export interface RunningJob extends Pick<JobRow, 'id' | 'client' | 'person' | 'spec' | 'ruling' | 'upto'> {
  /** 1, 2 or 3. */
  readonly attempt: number
  /** Aborted when the job was cancelled or taken over, and when the server stops. */
  readonly signal: AbortSignal
  /**
   * Runs `work` in a transaction, only while this attempt is the current one. Throws `JobLost` otherwise. It may run
   * twice, as in every transaction.
   */
  write<T>(work: (transaction: Transaction) => MaybePromise<T>): Promise<T>
  /** Sets the progress that clients see; stored with the next beat. At most 99 characters. */
  report(progress: string): void
  /** To be awaited after each item of work on the main thread, so that requests are answered. Throws when `signal` is aborted. */
  pause(): Promise<void> | undefined
  /**
   * To be called when an item begins after a wait, so that the wait does not count as work. `aside`: milliseconds in which
   * worker threads worked for the job meanwhile; they count while requests keep the server busy.
   */
  resume(aside?: number): void
  /**
   * For a transaction that is not made by `write`: to be awaited in it. Throws `JobLost` where this attempt is not the current
   * one.
   */
  fence(transaction: Transaction): Promise<void>
}

export interface JobKind {
  /** 1 to 32 letters. */
  readonly kind: string
  /**
   * Does the work. An attempt that throws is repeated, up to three in all; the message of a ServerError is shown to the
   * client. What it has stored by `write` stays for the next attempt.
   */
  run(job: RunningJob): Promise<void>
  /** Deletes the plugin's rows about the job, in the transaction that deletes it. */
  forget?(transaction: Transaction, id: string): MaybePromise<void>
  /**
   * Removes files and the like, after the job was cancelled, failed or was deleted. It is called again each minute while the
   * row of a cancelled or failed job exists, because another process may have ended the job.
   */
  discard?(id: string): Promise<void>
  /** Called each minute: removes files and the like that belong to no job. */
  sweep?(isKnown: (id: string) => Promise<boolean>): Promise<void>
}

export type NewJob = Pick<JobRow, 'id' | 'kind' | 'client' | 'person' | 'spec' | 'ruling' | 'upto'>

export interface Jobs {
  /** In setup only. */
  add(kind: JobKind): void
  /**
   * In the start of the plugin whose kind it is: from now on its jobs are worked on. Returns a function for the stop, which
   * ends an attempt under way and gives its start back.
   */
  open(kind: string): () => Promise<void>
  /** Adds a job; call `wake` after COMMIT. */
  enqueue(transaction: Transaction, job: NewJob): MaybePromise<void>
  /** Looks for work at once. */
  wake(): void
  find(id: string): Promise<JobRow | undefined>
  /** The jobs of a kind that have not ended, oldest first. */
  listOpen(kind: string): Promise<readonly JobRow[]>
  /** Jobs of all kinds, newest first: at most `limit` of those behind the job `after`. */
  listNewest(limit: number, after?: string): Promise<readonly JobRow[]>
  /** Number of unfinished jobs of a caller. Lets others that count the same wait until COMMIT. */
  countOpen(transaction: Transaction, of: Pick<JobRow, 'kind' | 'client' | 'person'>): Promise<number>
  /** Ends a job that has not ended. Resolves to false where there is none. */
  cancel(id: string): Promise<boolean>
  /** Deletes a job that has ended, with all that belongs to it. Resolves to false where there is none. */
  remove(id: string): Promise<boolean>
}

export const Jobs = defineService<Jobs>('jobs')
