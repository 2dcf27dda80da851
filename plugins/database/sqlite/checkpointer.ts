/**
 * Moves the write-ahead log into the file from a thread of its own. Inside a commit it would stall the event loop
 * (`wal_autocheckpoint` is off for that reason).
 *
 * SQLite starts the log over only when all of it was moved before the next commit. Under steady writing that never
 * happens by itself: the log would grow without end, and every read looks through it. So a checkpoint has two parts:
 * one beside the writing that moves most of it, and a short one during which the writer waits (the event loop does not).
 */
import { Worker } from 'node:worker_threads'

const GROUPS_PER_LOOK = 16 // commits between two looks at how long the log has become
const MAX_PAGES = 8_192 // a log of 32 MB; a page that was written many times by then is moved once

export interface Checkpointer {
  /** Notes a commit; asks for a checkpoint now and then. The next commit has to wait for a promise that is returned. */
  committed(): Promise<void> | undefined
  close(): Promise<void>
}

const WORKER = new URL(
  import.meta.url.endsWith('.ts') ? './checkpoint-worker.ts' : './checkpoint-worker.js',
  import.meta.url,
)

export const createCheckpointer = (
  path: string,
  /** Pages in the log that are not in the file yet. */
  countPages: () => number,
  onError: (message: string) => void,
): Checkpointer => {
  let worker: Worker | undefined
  let count = 0
  /** `following` moves what is there while more is written, `followed` has, `finishing` moves the rest. */
  let state: 'idle' | 'following' | 'followed' | 'finishing' = 'idle'
  let letOn: (() => void) | undefined

  const done = (error?: string): void => {
    if (error !== undefined) onError(error)
    state = state === 'following' && error === undefined ? 'followed' : 'idle'
    worker?.unref()
    letOn?.()
    letOn = undefined
  }
  const spawn = (): Worker => {
    const fresh = new Worker(WORKER, { workerData: { path } })
    fresh.on('message', ({ error }: { error?: string }) => done(error))
    fresh.on('error', (error) => {
      worker = undefined
      done(error.message)
    })
    return fresh
  }
  const ask = (next: 'following' | 'finishing'): void => {
    worker ??= spawn()
    state = next
    // Whoever waits for it keeps the process alive.
    worker.ref()
    worker.postMessage('checkpoint')
  }
  return {
    committed() {
      count += 1
      if (state === 'idle' && count >= GROUPS_PER_LOOK) {
        count = 0
        if (countPages() >= MAX_PAGES) ask('following')
      }
      if (state !== 'followed') return undefined
      ask('finishing')
      return new Promise((resolve) => {
        letOn = resolve
      })
    },
    async close() {
      await worker?.terminate()
      letOn?.()
    },
  }
}
