/** The thread of `apart`: its own read-only connection, one piece of work, one answer. */
import { parentPort, workerData } from 'node:worker_threads'
import type { Apart, Reading } from '../service.ts'
import { openReader } from './open.ts'
import { createStatements } from './statements.ts'

const { path, module, input } = workerData as { path: string; module: string; input: unknown }
const handle = openReader(path)
const statements = createStatements(handle)
const reading: Reading = {
  all: <R>(...[statement, params]: Parameters<Reading['all']>) => statements.of(statement).all(...params) as R[],
}
const { default: work } = (await import(module)) as { default: Apart<unknown, unknown> }
const answer = await work(reading, input)
handle.close()
parentPort?.postMessage(answer)
