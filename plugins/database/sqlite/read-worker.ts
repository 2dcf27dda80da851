/** A reader thread: its own read-only connection, one query at a time. */
import { parentPort, workerData } from 'node:worker_threads'
import BetterSqlite from 'better-sqlite3'
import { LRUCache } from 'lru-cache'
import { cancellable, RUNS } from './cancellable.ts'
import type { ReadWorkerResult } from './read-worker-result.ts'
import { withoutPeeking } from './without-peeking.ts'

const MAX_PREPARED = 1_000 // searches come in many shapes
const { path, cacheKib, cancelled } = workerData as {
  readonly path: string
  readonly cacheKib: number
  /** Its first number is set to 1 when the current query is cancelled. */
  readonly cancelled: Int32Array
}
const handle = new BetterSqlite(path, { readonly: true, fileMustExist: true })
handle.pragma(`cache_size = -${cacheKib}`)
handle.function(RUNS, { directOnly: true }, () => {
  if (Atomics.load(cancelled, 0) !== 0) throw new Error('the query was cancelled')
  return 1
})
const prepared = new LRUCache<string, BetterSqlite.Statement<unknown[], unknown>>({ max: MAX_PREPARED })

const answer = (text: string, params: unknown[]): ReadWorkerResult => {
  try {
    let statement = prepared.get(text)
    if (statement === undefined) {
      statement = handle.prepare<unknown[], unknown>(cancellable(withoutPeeking(text)))
      prepared.set(text, statement)
    }
    return { rows: statement.all(...params) }
  } catch (error) {
    const { message, code } = error as Error & { code?: string }
    return { error: code === undefined ? { message } : { message, code } }
  }
}

parentPort?.on('message', ({ text, params }: { text: string; params: unknown[] }) => {
  parentPort?.postMessage(answer(text, params))
})
