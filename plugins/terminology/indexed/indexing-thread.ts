/** The thread that parses large code systems, one after the other, and makes rows of the index, a part whenever it is asked. */
import { platform, setPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'
import { decompressBody } from '../../storage/thread-service.ts'
import { readCodeSystem } from '../code-system.ts'
import { toIndexRows } from './index-rows.ts'
import type { FromIndexingThread, SystemToIndex, ToIndexingThread } from './indexing-messages.ts'
import { loadedConcepts } from './loaded-concept.ts'

const LOWER_PRIORITY = 10 // nice value: 0 is the default, 19 the lowest priority
const CONCEPTS = 250 // of one part, which the main thread inserts in one turn

const textOf = (given: SystemToIndex): string => {
  if ('json' in given) return given.json
  const { bytes, encoding } = given.packed
  return decompressBody(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), encoding).toString('utf8')
}

function* parts(given: SystemToIndex): Generator<FromIndexingThread> {
  const system = readCodeSystem(JSON.parse(textOf(given)) as Readonly<Record<string, unknown>>)
  const { concepts, find: _find, ...header } = system
  yield { kind: 'header', header, size: concepts.size }
  let place = 0
  for (const batch of loadedConcepts(system, CONCEPTS)) {
    yield { kind: 'rows', rows: toIndexRows(batch, place, system.isCaseSensitive) }
    place += batch.length
  }
  yield { kind: 'end' }
}

// On Linux each thread has its own priority. A lower one lets the main thread go first.
if (platform() === 'linux') setPriority(LOWER_PRIORITY)
let left: Generator<FromIndexingThread> | undefined
parentPort?.on('message', (begun: ToIndexingThread) => {
  if (begun !== undefined) left = parts(begun)
  parentPort?.postMessage(left?.next().value)
})
