/**
 * What live queries cost creates: `node test/sync/cost.ts [cycles] [pairs] [queries] [profile folder]`. Two servers are processes
 * of their own. In each cycle first one and then the other has live queries that no create matches, and at last neither; rounds of
 * creates alternate between the servers. Two processes with the same code differ by some percent and drift: both parts of a cycle
 * together show what the queries cost, the third one how far the servers differ without any. Then what a live query costs that
 * every create matches. CPU time of the server's process, on the kind of database that TEST_DATABASE names, else in memory.
 */
import { loadavg } from 'node:os'
import type { MemoryUse } from '../bench/process/read-memory.ts'
import { type Subject, startSubject } from '../bench/process/subject.ts'
import { openSync, type SyncClient } from '../support/sync-client.ts'

const [cycles = 6, pairs = 8, queries = 10_000] = process.argv.slice(2, 5).map(Number)
const profileFolder = process.argv[5]
const CREATES = 300 // of a round
const WARM_UP = 10 // rounds, at the beginning
const SETTLE = 2 // rounds of each server, whenever queries were opened or closed
const PER_CONNECTION = 1_000
const AT_ONCE = 200 // messages that are answered in their order
const HITS = 200
const HIT_ROUNDS = 20
const HIT_CREATES = 100 // of a round
const TICK_MS = 20

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
  await new Promise((resolve) => setTimeout(resolve, TICK_MS))
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
const percent = (ratio: number): string => `${(ratio * 100).toFixed(1)} %`

const without: number[] = []
const beside: number[] = []
/** The speed of creates at the second server, where the first one has 1: a median of pairs, of which each begins with the other. */
const compare = async (bare: Server, busy: Server): Promise<number> => {
  const own: number[] = []
  for (let round = 0; round < SETTLE; round += 1) for (const one of [bare, busy]) await measure(one)
  for (let pair = 0; pair < pairs; pair += 1) {
    const isTurned = pair % 2 === 1
    const first = await measure(isTurned ? busy : bare)
    const second = await measure(isTurned ? bare : busy)
    const [one, other] = isTurned ? [second, first] : [first, second]
    without.push(one)
    beside.push(other)
    own.push(one / other)
  }
  return median(own)
}
const heaps: number[] = []
const compareWith = async (bare: Server, busy: Server, profile: boolean): Promise<number> => {
  const heapOf = async (): Promise<number> => (await busy.subject.ask<MemoryUse>('memory')).heap
  const before = await heapOf()
  const clients = await open(busy, queries, never)
  heaps.push(((await heapOf()) - before) / queries)
  const ratio = await compare(bare, busy)
  if (profile) {
    await bare.subject.profile(`${profileFolder}/without.cpuprofile`, () => measure(bare, 'final', 2_000))
    await busy.subject.profile(`${profileFolder}/beside.cpuprofile`, () => measure(busy, 'final', 2_000))
  }
  await close(clients)
  return ratio
}

const [first, second] = [await startServer(), await startServer()]
for (let round = 0; round < WARM_UP; round += 1) for (const one of [first, second]) await measure(one)
const found: number[] = []
const same: number[] = []
for (let cycle = 0; cycle < cycles; cycle += 1) {
  const isTurned = cycle % 2 === 1
  const [one, other] = isTurned ? [second, first] : [first, second]
  const atOther = await compareWith(one, other, profileFolder !== undefined && cycle === 0)
  const atOne = await compareWith(other, one, false)
  const at = found.push(Math.sqrt(atOther * atOne))
  const [withNeither, withBoth] = [[...without], [...beside]]
  const neither = await compare(first, second)
  without.splice(0, without.length, ...withNeither)
  beside.splice(0, beside.length, ...withBoth)
  same.push(neither)
  console.log(
    `cycle ${at}: ${percent(found.at(-1) as number)} (at one ${percent(atOther)}, at the other ${percent(atOne)}; ` +
      `without any the second server has ${percent(neither)} of the first), load ${loadavg()[0]?.toFixed(2)}`,
  )
}
console.log(
  `creates with ${queries} live queries, none hit, against none open: ${percent(median(found))} in the middle of ${cycles} cycles ` +
    `(CPU ${median(without).toFixed(0)} and ${median(beside).toFixed(0)} µs each); ${Math.round(median(heaps))} bytes of heap for a query`,
)

const hitters = await open(second, HITS, (at) => `Observation?status=amended&code:not=never${at}`)
const hits: number[] = []
for (let pair = 0; pair < HIT_ROUNDS; pair += 1)
  hits.push((-(await measure(second, 'final', HIT_CREATES)) + (await measure(second, 'amended', HIT_CREATES))) / HITS)
if (profileFolder !== undefined)
  await second.subject.profile(`${profileFolder}/hits.cpuprofile`, () => measure(second, 'amended', 200))
await close(hitters)
console.log(`each of ${HITS} hits on one connection: ${median(hits).toFixed(1)} µs of CPU of the server`)
for (const { subject } of [first, second]) await subject.stop()
process.exit(0)
