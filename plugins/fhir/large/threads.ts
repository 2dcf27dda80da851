/**
 * Threads that work through large bodies, so that the main thread goes on answering. A thread is started when there is
 * work and none is free. Who leaves gets no answer: his task ends with its thread.
 */
import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import type { Definitions } from '../../packages/service.ts'
import { BodyTooCostly, RequestLeft } from './errors.ts'
import type { Examined, Outcome, Part } from './outcome.ts'
import type { Task } from './task.ts'
import type { FromThread, ThreadData, ToThread } from './thread-data.ts'

/** One core is left to the main thread. */
const MAX_THREADS = 2
/** What a body of some ten megabytes takes at most; a thread that needs more ends, and not the server. */
const HEAP_MEGABYTES = 2_048

export interface ThreadsParts {
  readonly definitions: Definitions
  /** What a thread started now is given. */
  readonly data: () => ThreadData
}

export interface Threads {
  /** Rejects with RequestLeft when the signal aborts. */
  run(task: Task, signal: AbortSignal | undefined): Promise<Examined>
  close(): Promise<void>
}

interface Job {
  readonly task: Task
  readonly resolve: (outcome: Examined) => void
  readonly reject: (error: unknown) => void
  readonly signal: AbortSignal | undefined
}

interface Thread {
  readonly worker: Worker
  readonly data: ThreadData
  job: Job | undefined
}

const left = (): Error => RequestLeft()

// The compiled tree holds .js beside it; the sources run as they are.
const WORKER = new URL(import.meta.url.endsWith('.ts') ? './thread.ts' : './thread.js', import.meta.url)

export const createThreads = ({ definitions, data }: ThreadsParts): Threads => {
  const size = Math.max(1, Math.min(MAX_THREADS, availableParallelism() - 1))
  const threads = new Set<Thread>()
  const waiting: Job[] = []
  let isClosed = false

  /** Ends a thread, whatever it is at. */
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
  const find = async (
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

  const spawn = (): Thread => {
    const given = data()
    const worker = new Worker(WORKER, {
      workerData: given,
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MEGABYTES },
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
      // Packages or search parameters are others than when it was started.
      end(thread)
    }
    return threads.size < size ? spawn() : undefined
  }

  const start = (thread: Thread, job: Job): void => {
    const { worker } = thread
    const { task, signal } = job
    thread.job = job
    // A thread with work keeps the process alive, an idle one does not.
    worker.ref()
    let head: Outcome['head'] | undefined
    const parts: Part[] = []
    const settle = (act: () => void): void => {
      worker.off('message', take)
      signal?.removeEventListener('abort', cancel)
      if (thread.job !== job) return
      thread.job = undefined
      worker.unref()
      act()
      next()
    }
    const take = (message: FromThread): void => {
      switch (message.kind) {
        case 'find':
          void find(thread, message)
          return
        case 'head':
          head = message.head
          break
        case 'part':
          parts.push(message.part)
          break
        case 'end':
          settle(() => job.resolve({ head: head as Outcome['head'], parts, source: thread.data.extraction }))
          return
        case 'failed': {
          const error = new Error(message.message)
          if (message.stack !== undefined) error.stack = message.stack
          settle(() => job.reject(error))
          return
        }
      }
      // One part in a turn.
      setImmediate(() => worker.postMessage({ kind: 'next' } satisfies ToThread))
    }
    const cancel = (): void => {
      if (thread.job !== job) return
      thread.job = undefined
      end(thread)
      job.reject(left())
      next()
    }
    worker.on('message', take)
    signal?.addEventListener('abort', cancel, { once: true })
    worker.postMessage({ kind: 'task', task } satisfies ToThread)
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
      start(thread, waiting.shift() as Job)
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
