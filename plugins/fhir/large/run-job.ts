/** Gives a task to a thread, and collects the parts of its result. */
import type { Worker } from 'node:worker_threads'
import { RequestLeft } from './errors.ts'
import type { Examined, Outcome, Part } from './outcome.ts'
import type { Task } from './task.ts'
import type { FromThread, ThreadData, ToThread } from './thread-data.ts'

export interface Job {
  readonly task: Task
  readonly resolve: (outcome: Examined) => void
  readonly reject: (error: unknown) => void
  readonly signal: AbortSignal | undefined
}

export interface Thread {
  readonly worker: Worker
  readonly data: ThreadData
  job: Job | undefined
}

export interface JobEvents {
  /** The thread needs a definition. */
  find(message: Extract<FromThread, { kind: 'find' }>): void
  /** Terminates the thread, because the client has left. */
  end(): void
  /** The thread is free, or gone. */
  next(): void
}

export const left = (): Error => RequestLeft()

/** Settles the job with its result, or rejects it with RequestLeft when its signal aborts. */
export const runJob = (thread: Thread, job: Job, { find, end, next }: JobEvents): void => {
  const { worker } = thread
  const { task, signal } = job
  thread.job = job
  // A thread with work keeps the process alive; an idle one does not.
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
        find(message)
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
    // Requests the next part in another tick.
    setImmediate(() => worker.postMessage({ kind: 'next' } satisfies ToThread))
  }
  const cancel = (): void => {
    if (thread.job !== job) return
    thread.job = undefined
    end()
    job.reject(left())
    next()
  }
  worker.on('message', take)
  signal?.addEventListener('abort', cancel, { once: true })
  worker.postMessage({ kind: 'task', task } satisfies ToThread)
}
