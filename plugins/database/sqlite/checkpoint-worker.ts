/** The thread that makes checkpoints: PASSIVE, so that it waits for no reader or writer and blocks none. */
import { parentPort, workerData } from 'node:worker_threads'
import BetterSqlite from 'better-sqlite3'

const handle = new BetterSqlite((workerData as { path: string }).path, { fileMustExist: true })
handle.pragma('synchronous = FULL')

parentPort?.on('message', () => {
  try {
    handle.pragma('wal_checkpoint(PASSIVE)')
    parentPort?.postMessage({})
  } catch (error) {
    parentPort?.postMessage({ error: (error as Error).message })
  }
})
