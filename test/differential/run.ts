/**
 * Runs many clients against a fresh database and holds their answers against its history:
 * `TEST_DATABASE=postgres node test/differential/run.ts [operations] [clients] [seed]`.
 */

import { clinicWith } from '../server/writes/clinic.ts'
import { chosenKind } from '../support/database-kinds.ts'
import { checkHistory } from './check.ts'
import { runClients, type Send } from './clients.ts'

const [operations = 10_000, clients = 50, seed = 1] = process.argv.slice(2).map(Number)
const clinic = await clinicWith()
const send: Send = (request) => clinic.server.inject(request)
const started = performance.now()
const outcome = await runClients(send, { clients, operations, seed })
const seconds = (performance.now() - started) / 1_000
const wrong = [...outcome.faults, ...(await checkHistory(send, outcome))]
console.log(
  `${chosenKind.name}: ${operations} operations of ${clients} clients, seed ${seed}, ${seconds.toFixed(1)} s; ${outcome.made.length} versions made, ${outcome.deletions} deletions`,
)
console.log(outcome.counts)
for (const one of wrong.slice(0, 20)) console.log(one)
console.log(`${wrong.length} wrong`)
await clinic.stop()
process.exitCode = wrong.length === 0 ? 0 : 1
