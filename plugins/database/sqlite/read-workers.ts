/**
 * Reader threads for queries that may take longer than a millisecond, so that point reads on the main thread stay fast.
 * A thread is started when there is work and none is free, up to `db_pool` threads.
 */

import { Worker } from 'node:worker_threads'
import { type Clock, THREAD_LIMITS, workerUrl } from '../../../kernel/index.ts'
import type { Sql, SqlParam } from '../contract.ts'
import { QueryCancelled } from '../errors.ts'
import type { ReadWorkerResult } from './read-worker-result.ts'

interface Job {
  readonly text: string
  readonly params: readonly SqlParam[]
  readonly resolve: (rows: unknown[]) => void
  readonly reject: (error: unknown) => void
  readonly signal: AbortSignal | undefined
  /** The listener of `signal`. */
  cancel?: () => void
}

/**
 * Removes the listener from the signal, which may live long: it would keep the rows of the query in memory. This is no function in
 * the job: V8 keeps the rows of jobs whose functions are called until it collects the old generation.
 */
const removeListener = ({ signal, cancel }: Job): void => {
  if (cancel !== undefined) signal?.removeEventListener('abort', cancel)
}

/** A Buffer arrives from a thread as a plain Uint8Array; it is made a Buffer again, over the same bytes. */
const toOwnBytes = (row: Record<string, unknown>): unknown => {
  // Not `Object.entries`, which makes an array for each value of millions of rows.
  for (const column in row) {
    const value = row[column]
    if (value instanceof Uint8Array && !Buffer.isBuffer(value))
      row[column] = Buffer.from(value.buffer, value.byteOffset, value.byteLength)
  }
  return row
}

export interface ReadWorkers {
  all<R>(statement: Sql, params: readonly SqlParam[], signal?: AbortSignal): Promise<R[]>
  readonly status: { readonly size: number; readonly busy: number; readonly waiting: number }
  close(): Promise<void>
}

const WORKER = workerUrl(import.meta.url, './read-worker.ts')
const LATE_MS = 100 // milliseconds after which a cancelled query is taken for one that has no marks of `eachRow`

interface Thread {
  readonly worker: Worker
  /** Shared with the thread: set to 1, it stops the query. */
  readonly flag: Int32Array
  job: Job | undefined
  /** The query that was cancelled, until the thread answers. Its caller was answered. */
  cancelled: Job | undefined
  /** True where that takes long, so another thread may take its place. */
  isLate: boolean
}

export const createReadWorkers = (path: string, size: number, cacheKib: number, clock: Clock): ReadWorkers => {
  const threads = new Set<Thread>()
  const waiting: Job[] = []
  let closed = false

  /** Other threads may take the places of late ones, which end when their statements do; there are at most twice `size`. */
  const mostThreads = (): number => {
    let late = 0
    for (const { isLate } of threads) if (isLate) late += 1
    return size + Math.min(late, size)
  }
  const settle = (thread: Thread, { rows, error }: ReadWorkerResult): void => {
    const { job, worker } = thread
    if (thread.cancelled !== undefined) Atomics.store(thread.flag, 0, 0)
    thread.job = undefined
    thread.cancelled = undefined
    thread.isLate = false
    worker.unref()
    if (job !== undefined) {
      removeListener(job)
      if (error === undefined) job.resolve((rows ?? []).map((row) => toOwnBytes(row as Record<string, unknown>)))
      else job.reject(Object.assign(new Error(error.message), { code: error.code }))
    }
    if (threads.size > mostThreads()) {
      threads.delete(thread)
      void worker.terminate()
    }
    next()
  }
  const lose = (thread: Thread, error: unknown): void => {
    const { job } = thread
    threads.delete(thread)
    thread.job = undefined
    if (job !== undefined) removeListener(job)
    job?.reject(error)
    next()
  }
  const spawn = (): Thread => {
    const flag = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
    const worker = new Worker(WORKER, {
      workerData: { path, cacheKib, cancelled: flag },
      resourceLimits: THREAD_LIMITS,
    })
    const thread: Thread = { worker, flag, job: undefined, cancelled: undefined, isLate: false }
    worker.on('message', (answer: ReadWorkerResult) => settle(thread, answer))
    worker.on('error', (error) => lose(thread, error))
    worker.on('exit', () => lose(thread, QueryCancelled()))
    worker.unref()
    threads.add(thread)
    return thread
  }
  /**
   * Answers the caller at once. The flag ends the query soon where its statement has marks of `eachRow`, and the thread takes the
   * next one: when many clients leave at the same time, a thread for each of their queries would take more than the queries.
   */
  const cancel = (thread: Thread, job: Job): void => {
    removeListener(job)
    thread.job = undefined
    thread.cancelled = job
    Atomics.store(thread.flag, 0, 1)
    job.reject(QueryCancelled())
    const replace = (): void => {
      if (thread.cancelled !== job) return
      thread.isLate = true
      next()
    }
    clock.deadline(LATE_MS).addEventListener('abort', replace, { once: true })
  }
  const free = (): Thread | undefined => {
    for (const thread of threads) if (thread.job === undefined && thread.cancelled === undefined) return thread
    return threads.size < mostThreads() ? spawn() : undefined
  }
  const run = (thread: Thread, job: Job): void => {
    thread.job = job
    // A thread with work keeps the process alive, an idle one does not.
    thread.worker.ref()
    if (job.signal !== undefined) {
      job.cancel = () => cancel(thread, job)
      job.signal.addEventListener('abort', job.cancel, { once: true })
    }
    thread.worker.postMessage({ text: job.text, params: job.params })
  }
  const next = (): void => {
    while (waiting.length > 0 && !closed) {
      if (waiting[0]?.signal?.aborted) {
        waiting.shift()?.reject(QueryCancelled())
        continue
      }
      const thread = free()
      if (thread === undefined) return
      run(thread, waiting.shift() as Job)
    }
  }
  /** Node calls no JavaScript in a thread that is to end, so the flag would not be read: it ends when it has answered. */
  const end = async (thread: Thread): Promise<void> => {
    if (thread.job !== undefined) cancel(thread, thread.job)
    if (thread.cancelled !== undefined)
      await new Promise((resolve) => thread.worker.once('message', resolve).once('exit', resolve))
    await thread.worker.terminate()
  }
  return {
    all: <R>(statement: Sql, params: readonly SqlParam[], signal?: AbortSignal) =>
      new Promise<R[]>((resolve, reject) => {
        if (closed || signal?.aborted) return reject(QueryCancelled())
        waiting.push({ text: statement.sqlite, params, resolve: resolve as (rows: unknown[]) => void, reject, signal })
        next()
      }),
    get status() {
      const busy = [...threads].filter(({ job, cancelled }) => job !== undefined || cancelled !== undefined).length
      return { size, busy, waiting: waiting.length }
    },
    async close() {
      closed = true
      for (const job of waiting.splice(0)) job.reject(QueryCancelled())
      await Promise.all([...threads].map(end))
    },
  }
}
