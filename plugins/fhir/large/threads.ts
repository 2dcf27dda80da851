/**
 * Manages the threads for large bodies, so that the main thread can answer other requests. A thread is started when
 * there is work and all others are busy. When a client disconnects, the thread that works for it is terminated.
 */
import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import { threadHeapMegabytes, workerUrl } from '../../../kernel/index.ts'
import type { Definitions } from '../../packages/service.ts'
import { BodyTooCostly } from './errors.ts'
import type { Examined } from './outcome.ts'
import { type Job, left, runJob, type Thread } from './run-job.ts'
import type { Task } from './task.ts'
import type { FromThread, ThreadData, ToThread } from './thread-data.ts'

/** At least one core is left to the main thread. */
const MAX_THREADS = 2
/** About what a body of ten megabytes needs at most. A thread that needs more is terminated; the server goes on. */
const HEAP_MEGABYTES = 2_048

export interface ThreadsParts {
  readonly definitions: Definitions
  /** The data for a thread that is started now. */
  readonly data: () => ThreadData
}

export interface Threads {
  /** Rejects with RequestLeft when the signal aborts, and with 413 when the task needs too much memory. */
  run(task: Task, signal: AbortSignal | undefined): Promise<Examined>
  close(): Promise<void>
}

/** Answers a thread that needs a definition. */
const find = async (
  definitions: Definitions,
  { worker }: Thread,
  { number, type, url, version }: Extract<FromThread, { kind: 'find' }>,
): Promise<void> => {
  const answer = (message: ToThread): void => worker.postMessage(message)
  try {
    const definition = await definitions.find(type, url, version)
    answer({ kind: 'definition', number, definition })
  } catch (error) {
    answer({ kind: 'definition', number, error: String(error) })
  }
}

const WORKER = workerUrl(import.meta.url, './thread.ts')

export const createThreads = ({ definitions, data }: ThreadsParts): Threads => {
  const size = Math.max(1, Math.min(MAX_THREADS, availableParallelism() - 1))
  const threads = new Set<Thread>()
  const waiting: Job[] = []
  let isClosed = false

  /** Terminates a thread, even during a task. */
  const end = (thread: Thread): void => {
    threads.delete(thread)
    void thread.worker.terminate()
  }
  const lose = (thread: Thread, error: unknown): void => {
    const { job } = thread
    thread.job = undefined
    threads.delete(thread)
    job?.reject(error)
    next()
  }

  const spawn = (): Thread => {
    const given = data()
    const worker = new Worker(WORKER, {
      workerData: given,
      resourceLimits: { maxOldGenerationSizeMb: threadHeapMegabytes(HEAP_MEGABYTES) },
    })
    const thread: Thread = { worker, data: given, job: undefined }
    worker.on('error', (error: NodeJS.ErrnoException) =>
      lose(thread, error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? BodyTooCostly() : error),
    )
    worker.on('exit', () => lose(thread, left()))
    worker.unref()
    threads.add(thread)
    return thread
  }
  const free = (): Thread | undefined => {
    const now = data()
    for (const thread of threads) {
      if (thread.job !== undefined) continue
      if (thread.data === now) return thread
      // Packages or search parameters have changed since the thread was started.
      end(thread)
    }
    return threads.size < size ? spawn() : undefined
  }

  const next = (): void => {
    while (waiting.length > 0 && !isClosed) {
      const [job] = waiting
      if (job?.signal?.aborted) {
        waiting.shift()
        job.reject(left())
        continue
      }
      const thread = free()
      if (thread === undefined) return
      runJob(thread, waiting.shift() as Job, {
        find: (message) => void find(definitions, thread, message),
        end: () => end(thread),
        next,
      })
    }
  }
  return {
    run: (task, signal) =>
      new Promise((resolve, reject) => {
        if (isClosed || signal?.aborted) return reject(left())
        waiting.push({ task, resolve, reject, signal })
        next()
      }),
    async close() {
      isClosed = true
      for (const job of waiting.splice(0)) job.reject(left())
      await Promise.all([...threads].map(({ worker }) => worker.terminate()))
    },
  }
}
