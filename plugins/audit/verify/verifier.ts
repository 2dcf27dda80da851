/**
 * Verifies the audit trail while the server runs, one verification at a time: in a worker thread where the database is
 * a file, otherwise on the main thread, which yields between pages.
 */
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { THREAD_LIMITS, workerUrl } from '../../../kernel/index.ts'
import type { Database, Sql, SqlParam, ThreadReaderLocation } from '../../database/service.ts'
import { VerifyCancelled } from '../errors.ts'
import { type Checkpoint, type Verdict, type VerifyInput, verifyTrail } from './walk.ts'

const WORKER = workerUrl(import.meta.url, './worker.ts')

const yieldToEventLoop = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Ends the thread when the signal aborts. */
const inThread = async (place: ThreadReaderLocation, input: VerifyInput, signal: AbortSignal): Promise<Verdict> => {
  const worker = new Worker(WORKER, { workerData: { place, input }, resourceLimits: THREAD_LIMITS })
  const gone = new AbortController()
  try {
    const [verdict] = await Promise.race([
      once(worker, 'message', { signal: gone.signal }),
      once(worker, 'exit', { signal: gone.signal }).then(() => Promise.reject(VerifyCancelled())),
      once(signal, 'abort', { signal: gone.signal }).then(() => Promise.reject(VerifyCancelled())),
    ])
    return verdict as Verdict
  } finally {
    gone.abort()
    await worker.terminate()
  }
}

const here = (database: Database, input: VerifyInput, signal: AbortSignal): Promise<Verdict> =>
  verifyTrail(
    {
      async all<R>(statement: Sql, params: readonly SqlParam[]) {
        await yieldToEventLoop()
        return database.longQuery<R>(statement, params, signal)
      },
    },
    input,
  )

export type Verify = (checkpoint: Checkpoint | undefined, signal: AbortSignal) => Promise<Verdict>

export const createVerifier = (database: Database, keys: Omit<VerifyInput, 'checkpoint'>): Verify => {
  let last: Promise<unknown> = Promise.resolve()
  const verify: Verify = (checkpoint, signal) => {
    if (signal.aborted) throw VerifyCancelled()
    const place = database.threadReaderLocation()
    const input = { ...keys, checkpoint }
    return place === undefined ? here(database, input, signal) : inThread(place, input, signal)
  }
  return (checkpoint, signal) => {
    const next = last.then(() => verify(checkpoint, signal))
    last = next.catch(() => undefined)
    return next
  }
}
