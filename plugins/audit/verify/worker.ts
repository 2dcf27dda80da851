/** The verifying thread: opens a connection of its own, walks the chain once and posts the verdict. */
import { setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import { openThreadReader, type ThreadReaderLocation } from '../../database/service.ts'
import { type VerifyInput, verifyTrail } from './walk.ts'

const GIVES_WAY = 10 // nice value: a lower priority than 0

// Gives requests priority. On Linux this sets the priority of this thread only; elsewhere it would be that of the whole
// process.
if (process.platform === 'linux') setPriority(GIVES_WAY)

const { place, input } = workerData as { place: ThreadReaderLocation; input: VerifyInput }
parentPort?.postMessage(await verifyTrail(await openThreadReader(place), input))
