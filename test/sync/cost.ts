/**
 * What live queries cost creates: `node test/sync/cost.ts [pairs] [queries] [profile folder]`. Two servers are processes of their
 * own; one of them has live queries that no create matches. Rounds of creates alternate between them, and halfway the servers
 * change their parts, because two processes with the same code differ by some percent. Then what a live query costs that every
 * create matches. CPU time of the server's process, on the kind of database that TEST_DATABASE names, else in memory.
 */
import { type Subject, startSubject } from '../bench/process/subject.ts'
import { openSync, type SyncClient } from '../support/sync-client.ts'

const [pairs = 40, queries = 10_000] = process.argv.slice(2, 4).map(Number)
const profileFolder = process.argv[4]
const CREATES = 300 // of a round
const WARM_UP = 10 // rounds
const PER_CONNECTION = 1_000
const AT_ONCE = 200 // messages that are answered in their order
const HITS = 200

interface Server {
  readonly subject: Subject
  readonly address: string
}

const startServer = async (): Promise<Server> => {
  const subject = startSubject('live', { cores: { server: undefined, description: '' } })
  return { subject, address: await subject.ask<string>('start') }
}
const body = (at: number, status: string): string =>
  JSON.stringify({
    resourceType: 'Observation',
    status,
    code: { coding: [{ system: 'http://loinc.org', code: `c${at % 50}` }] },
    subject: { reference: `Patient/none${at}` },
    effectiveDateTime: '2021-01-01',
  })
let made = 0
/** Microseconds of CPU for one create. */
const measure = async ({ subject, address }: Server, status = 'final', creates = CREATES): Promise<number> => {
  const before = await subject.cpu()
  for (let at = 0; at < creates; at += 1) {
    made += 1
    const headers = { 'content-type': 'application/fhir+json' }
    const answer = await fetch(`${address}/Observation`, { method: 'POST', headers, body: body(made, status) })
    if (answer.status !== 201) throw new Error(`a create is answered with ${answer.status}`)
    await answer.arrayBuffer()
  }
  await new Promise((resolve) => setTimeout(resolve, 20))
  return ((await subject.cpu()).micros - before.micros) / creates
}
const open = async (
  { address }: Server,
  count: number,
  query: (at: number) => string,
): Promise<readonly SyncClient[]> => {
  const clients: SyncClient[] = []
  for (let at = 0; at < count; at += AT_ONCE) {
    if (at % PER_CONNECTION === 0) clients.push(await openSync(address))
    const client = clients.at(-1) as SyncClient
    const last = Math.min(at + AT_ONCE, count) - 1
    for (let one = at; one <= last; one += 1) client.send({ op: 'subscribe', id: `q${one}`, query: query(one) })
    await client.next(({ op, id }) => op === 'ready' && id === `q${last}`)
    client.messages.length = 0
  }
  return clients
}
const close = async (clients: readonly SyncClient[]): Promise<void> => {
  for (const one of clients) await one.close()
}
const median = (numbers: readonly number[]): number =>
  [...numbers].sort((one, other) => one - other)[Math.floor(numbers.length / 2)] as number
const never = (at: number): string => `Observation?subject=Patient/never${at}&code=x`

const without: number[] = []
const beside: number[] = []
const ratios: number[] = []
const comparePairs = async (bare: Server, busy: Server, count: number): Promise<number> => {
  const own: number[] = []
  for (let pair = 0; pair < count; pair += 1) {
    const one = await measure(bare)
    const other = await measure(busy)
    without.push(one)
    beside.push(other)
    own.push(one / other)
  }
  ratios.push(...own)
  return median(own)
}
const servers = [await startServer(), await startServer()] as const
const [first, second] = servers
for (let round = 0; round < WARM_UP; round += 1) for (const one of servers) await measure(one)
const same = await (async () => {
  const own: number[] = []
  for (let pair = 0; pair < Math.ceil(pairs / 4); pair += 1) own.push((await measure(first)) / (await measure(second)))
  return median(own)
})()

const heapBefore = await second.subject.ask<number>('heap')
const atSecond = await open(second, queries, never)
const bytes = ((await second.subject.ask<number>('heap')) - heapBefore) / queries
const one = await comparePairs(first, second, Math.ceil(pairs / 2))
if (profileFolder !== undefined) {
  await first.subject.profile(`${profileFolder}/without.cpuprofile`, () => measure(first, 'final', 2_000))
  await second.subject.profile(`${profileFolder}/beside.cpuprofile`, () => measure(second, 'final', 2_000))
}
await close(atSecond)
const atFirst = await open(first, queries, never)
const other = await comparePairs(second, first, Math.floor(pairs / 2))
await close(atFirst)
console.log(
  `creates with ${queries} live queries, none hit, against none open: ${Math.sqrt(one * other).toFixed(3)} ` +
    `(at one server ${one.toFixed(3)}, at the other ${other.toFixed(3)}, both without ${same.toFixed(3)}; ` +
    `CPU ${median(without).toFixed(0)} and ${median(beside).toFixed(0)} µs each); ${Math.round(bytes)} bytes of heap for a query`,
)

const hitters = await open(second, HITS, (at) => `Observation?status=amended&code:not=never${at}`)
const hits: number[] = []
for (let pair = 0; pair < 10; pair += 1)
  hits.push((-(await measure(second, 'final', 100)) + (await measure(second, 'amended', 100))) / HITS)
if (profileFolder !== undefined)
  await second.subject.profile(`${profileFolder}/hits.cpuprofile`, () => measure(second, 'amended', 200))
await close(hitters)
console.log(`each of ${HITS} hits on one connection: ${median(hits).toFixed(1)} µs of CPU of the server`)
for (const { subject } of servers) await subject.stop()
process.exit(0)
