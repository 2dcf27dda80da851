/**
 * Reader threads for queries that may take longer than a millisecond, so that point reads on the main thread stay fast.
 * A thread is started when there is work and none is free, up to `db_pool` threads.
 */

import { Worker } from 'node:worker_threads'
import { THREAD_LIMITS, workerUrl } from '../../../kernel/index.ts'
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

export const createReadWorkers = (path: string, size: number, cacheKib: number): ReadWorkers => {
  const workers = new Map<Worker, Job | undefined>()
  /** Shared with each thread: set to 1, it stops the query. */
  const cancelled = new WeakMap<Worker, Int32Array>()
  /** Threads whose queries were cancelled. */
  const ending = new Set<Promise<void>>()
  const waiting: Job[] = []
  let closed = false

  const settle = (worker: Worker, { rows, error }: ReadWorkerResult): void => {
    // The thread answered just when it was cancelled: it must not get another job.
    if (!workers.has(worker)) return
    const job = workers.get(worker)
    workers.set(worker, undefined)
    if (job !== undefined) removeListener(job)
    worker.unref()
    if (error === undefined) job?.resolve((rows ?? []).map((row) => toOwnBytes(row as Record<string, unknown>)))
    else job?.reject(Object.assign(new Error(error.message), { code: error.code }))
    next()
  }
  const lose = (worker: Worker, error: unknown): void => {
    const job = workers.get(worker)
    workers.delete(worker)
    if (job !== undefined) removeListener(job)
    job?.reject(error)
    next()
  }
  const spawn = (): Worker => {
    const flag = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
    const worker = new Worker(WORKER, {
      workerData: { path, cacheKib, cancelled: flag },
      resourceLimits: THREAD_LIMITS,
    })
    cancelled.set(worker, flag)
    worker.on('message', (answer: ReadWorkerResult) => settle(worker, answer))
    worker.on('error', (error) => lose(worker, error))
    worker.on('exit', () => lose(worker, QueryCancelled()))
    worker.unref()
    workers.set(worker, undefined)
    return worker
  }
  /**
   * Ends a thread when it has answered, which is soon where the statement has marks of `eachRow`, because the flag cancels it. An
   * earlier `terminate()` would not cancel the statement, and Node calls no JavaScript behind it, so the flag would not be read.
   */
  const endAtAnswer = (worker: Worker): void => {
    const flag = cancelled.get(worker)
    if (flag !== undefined) Atomics.store(flag, 0, 1)
    workers.delete(worker)
    const ended = new Promise<void>((resolve) => {
      worker.once('message', () => void worker.terminate())
      worker.once('exit', () => resolve())
    }).then(() => void ending.delete(ended))
    ending.add(ended)
  }
  const free = (): Worker | undefined => {
    for (const [worker, job] of workers) if (job === undefined) return worker
    return workers.size < size ? spawn() : undefined
  }
  const run = (worker: Worker, job: Job): void => {
    workers.set(worker, job)
    // A thread with work keeps the process alive, an idle one does not.
    worker.ref()
    // Cancelling a query ends its thread, and the next job starts a new one. The caller is answered at once.
    const cancel = (): void => {
      if (workers.get(worker) !== job) return
      job.reject(QueryCancelled())
      endAtAnswer(worker)
      next()
    }
    if (job.signal !== undefined) {
      job.signal.addEventListener('abort', cancel, { once: true })
      job.cancel = cancel
    }
    worker.postMessage({ text: job.text, params: job.params })
  }
  const next = (): void => {
    while (waiting.length > 0 && !closed) {
      if (waiting[0]?.signal?.aborted) {
        waiting.shift()?.reject(QueryCancelled())
        continue
      }
      const worker = free()
      if (worker === undefined) return
      run(worker, waiting.shift() as Job)
    }
  }
  return {
    all: <R>(statement: Sql, params: readonly SqlParam[], signal?: AbortSignal) =>
      new Promise<R[]>((resolve, reject) => {
        if (closed || signal?.aborted) return reject(QueryCancelled())
        waiting.push({ text: statement.sqlite, params, resolve: resolve as (rows: unknown[]) => void, reject, signal })
        next()
      }),
    get status() {
      return { size, busy: [...workers.values()].filter((job) => job !== undefined).length, waiting: waiting.length }
    },
    async close() {
      closed = true
      for (const job of waiting.splice(0)) job.reject(QueryCancelled())
      for (const [worker, job] of workers) {
        if (job === undefined) continue
        removeListener(job)
        job.reject(QueryCancelled())
        endAtAnswer(worker)
      }
      await Promise.all([...ending, ...[...workers.keys()].map((worker) => worker.terminate())])
    },
  }
}
