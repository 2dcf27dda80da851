/** The thread that verifies: its own connection, one walk, one verdict. */
import { parentPort, workerData } from 'node:worker_threads'
import { openReading, type ReadingPlace } from '../../database/service.ts'
import { type VerifyInput, verifyTrail } from './walk.ts'

const { place, input } = workerData as { place: ReadingPlace; input: VerifyInput }
parentPort?.postMessage(await verifyTrail(await openReading(place), input))
