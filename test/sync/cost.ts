/**
 * What live queries cost creates: `node test/sync/cost.ts [rounds] [queries]`. By turns without live queries and with many
 * that no create matches; then what one more query costs that every create matches. CPU time of this process, on the
 * kind of database that TEST_DATABASE names, else in memory.
 */
import sync from '../../plugins/sync/index.ts'
import { clinicWith } from '../server/writes/clinic.ts'
import { openSync, type SyncClient } from '../support/sync-client.ts'

const [rounds = 10, queries = 10_000] = process.argv.slice(2).map(Number)
const CREATES = 500
const PER_CONNECTION = 1_000
const AT_ONCE = 200 // messages that are answered in their order

const clinic = await clinicWith({ server: { bind: '127.0.0.1:0' } }, [sync])
const address = await clinic.server.listen()
const cpu = (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}
const body = (at: number, status: string) => ({
  resourceType: 'Observation',
  status,
  code: { coding: [{ system: 'http://loinc.org', code: `c${at % 50}` }] },
  subject: { reference: `Patient/none${at}` },
  effectiveDateTime: '2021-01-01',
})
let made = 0
/** Milliseconds of CPU for one create. */
const measure = async (status = 'final'): Promise<number> => {
  const began = cpu()
  for (let at = 0; at < CREATES; at += 1) {
    made += 1
    await clinic.ask('POST', '/Observation', body(made, status))
  }
  await new Promise((resolve) => setTimeout(resolve, 20))
  return (cpu() - began) / CREATES
}
const open = async (count: number, query: (at: number) => string): Promise<readonly SyncClient[]> => {
  const clients: SyncClient[] = []
  for (let at = 0; at < count; at += AT_ONCE) {
    if (at % PER_CONNECTION === 0) clients.push(await openSync(address))
    const client = clients.at(-1) as SyncClient
    for (let one = at; one < at + AT_ONCE; one += 1) client.send({ op: 'subscribe', id: `q${one}`, query: query(one) })
    await client.next(({ op, id }) => op === 'ready' && id === `q${at + AT_ONCE - 1}`)
    client.messages.length = 0
  }
  return clients
}
const close = async (clients: readonly SyncClient[]): Promise<void> => {
  for (const one of clients) await one.close()
}
const median = (numbers: readonly number[]): number =>
  [...numbers].sort((one, other) => one - other)[Math.floor(numbers.length / 2)] as number

await measure()
const ratios: number[] = []
const base: number[] = []
// Opening so many takes long, so the turns are: some rounds without, as many with, as many without.
const without = async () => {
  for (let round = 0; round < rounds; round += 1) base.push(await measure())
}
await without()
const heapBefore = process.memoryUsage().heapUsed
const many = await open(queries, (at) => `Observation?subject=Patient/never${at}&code=x`)
globalThis.gc?.()
const bytes = (process.memoryUsage().heapUsed - heapBefore) / queries
const beside: number[] = []
for (let round = 0; round < rounds; round += 1) beside.push(await measure())
await close(many)
await without()
for (const [at, one] of beside.entries()) ratios.push(((base[at] as number) + (base[at + rounds] as number)) / 2 / one)
console.log(
  `creates with ${queries} live queries, none hit, against none open: ${median(ratios).toFixed(3)} ` +
    `(CPU ${median(base).toFixed(3)} and ${median(beside).toFixed(3)} ms each); ${Math.round(bytes)} bytes of heap for a query`,
)
const HITS = 200
const hitters = await open(HITS, (at) => `Observation?status=amended&code:not=never${at}`)
const hit: number[] = []
for (let round = 0; round < 2; round += 1) hit.push(await measure('amended'))
await close(hitters)
console.log(
  `each of ${HITS} hits: ${(((median(hit) - median(base)) / HITS) * 1000).toFixed(1)} µs of CPU, with the client in this process`,
)
await clinic.stop()
process.exit(0)
