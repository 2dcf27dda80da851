/**
 * Copies the WAL into the database file from a thread of its own: inside a commit it would block the event loop
 * (`wal_autocheckpoint` is off for that reason).
 *
 * SQLite restarts the WAL from its beginning only when all of it was copied before the next commit. Under steady
 * writing that never happens by itself: the WAL would grow without limit, and every read has to search it. So a
 * checkpoint has two parts: one concurrent with writes, which copies most of it, and a short one during which the
 * writer waits (the event loop does not).
 */
import { Worker } from 'node:worker_threads'
import { THREAD_LIMITS, workerUrl } from '../../../kernel/index.ts'

const GROUPS_PER_LOOK = 16 // commits between two checks of the length of the WAL
const MAX_PAGES = 8_192 // a WAL of 32 MB: a page that was written many times is then copied once

export interface Checkpointer {
  /** Counts a commit and sometimes starts a checkpoint. If it returns a promise, the next commit has to wait for it. */
  committed(): Promise<void> | undefined
  close(): Promise<void>
}

const WORKER = workerUrl(import.meta.url, './checkpoint-worker.ts')

export const createCheckpointer = (
  path: string,
  /** Pages in the WAL that are not in the database file yet. */
  countPages: () => number,
  onError: (message: string) => void,
): Checkpointer => {
  let worker: Worker | undefined
  let count = 0
  /**
   * `following`: the concurrent part runs; `followed`: it is done; `finishing`: the rest is copied while the writer
   * waits.
   */
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
    const fresh = new Worker(WORKER, { workerData: { path }, resourceLimits: THREAD_LIMITS })
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
    // A checkpoint in progress keeps the process alive.
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
