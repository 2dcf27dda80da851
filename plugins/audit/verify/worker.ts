/** The thread that verifies: its own connection, one walk, one verdict. */
import { setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import { openThreadReader, type ThreadReaderLocation } from '../../database/service.ts'
import { type VerifyInput, verifyTrail } from './walk.ts'

const GIVES_WAY = 10 // a niceness

// Requests come first. On Linux that is said of this thread alone, elsewhere it would be of the server.
if (process.platform === 'linux') setPriority(GIVES_WAY)

const { place, input } = workerData as { place: ThreadReaderLocation; input: VerifyInput }
parentPort?.postMessage(await verifyTrail(await openThreadReader(place), input))
