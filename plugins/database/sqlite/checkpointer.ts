/**
 * Moves the write-ahead log into the file from a thread of its own. Inside a commit it would stall the event loop
 * (`wal_autocheckpoint` is off for that reason).
 */
import { Worker } from 'node:worker_threads'

const GROUPS_PER_CHECKPOINT = 256 // commits between two checkpoints: a log of some megabytes

export interface Checkpointer {
  /** Counts a commit; asks for a checkpoint now and then. */
  committed(): void
  close(): Promise<void>
}

const WORKER = new URL(
  import.meta.url.endsWith('.ts') ? './checkpoint-worker.ts' : './checkpoint-worker.js',
  import.meta.url,
)

export const createCheckpointer = (path: string, onError: (message: string) => void): Checkpointer => {
  let worker: Worker | undefined
  let count = 0
  let busy = false
  const ask = (): void => {
    if (worker === undefined) {
      worker = new Worker(WORKER, { workerData: { path } })
      worker.unref()
      worker.on('message', ({ error }: { error?: string }) => {
        busy = false
        if (error !== undefined) onError(error)
      })
      worker.on('error', (error) => {
        busy = false
        worker = undefined
        onError(error.message)
      })
    }
    busy = true
    worker.postMessage('checkpoint')
  }
  return {
    committed() {
      count += 1
      if (count < GROUPS_PER_CHECKPOINT || busy) return
      count = 0
      ask()
    },
    async close() {
      await worker?.terminate()
    },
  }
}
