/**
 * What live queries cost creates: `node test/sync/cost.ts [cycles] [pairs] [queries] [profile folder]`. Two servers are processes
 * of their own, started as `server` starts itself. In each cycle first one and then the other has live queries that no create
 * matches, and at last neither; rounds of creates alternate between the servers. Two processes with the same code differ by some
 * percent and drift: both parts of a cycle together show what the queries cost, the third one how far the servers differ without
 * any. Both have had live queries before, and whenever one has none it does not listen to changes any more. Nothing is collected
 * by force before the comparison is over: a server whose memory was collected is slower for a while. Then the memory of a query, and
 * what one costs that every create matches. CPU time of the server's process, on the kind of database that TEST_DATABASE names,
 * else in memory.
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
const LISTENING = { lasts: 600_000, ends: 1_500 } // ms that a server listens without live queries, and in which it then ends that

interface Server {
  readonly subject: Subject
  readonly address: string
}

const startServer = async (): Promise<Server> => {
  const subject = startSubject('live', { cores: { server: undefined, description: '' }, shipped: true })
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
const pass = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
let made = 0
interface Cost {
  /** Microseconds of CPU of the server for one create. */
  readonly cpu: number
  /** Microseconds until it is answered. */
  readonly time: number
}

const measure = async ({ subject, address }: Server, status = 'final', creates = CREATES): Promise<Cost> => {
  const before = await subject.cpu()
  const startedAt = performance.now()
  for (let at = 0; at < creates; at += 1) {
    made += 1
    const headers = { 'content-type': 'application/fhir+json' }
    const answer = await fetch(`${address}/Observation`, { method: 'POST', headers, body: body(made, status) })
    if (answer.status !== 201) throw new Error(`a create is answered with ${answer.status}`)
    await answer.arrayBuffer()
  }
  const time = ((performance.now() - startedAt) * 1_000) / creates
  await pass(TICK_MS)
  return { cpu: ((await subject.cpu()).micros - before.micros) / creates, time }
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
const close = async ({ subject }: Server, clients: readonly SyncClient[]): Promise<void> => {
  for (const one of clients) await one.close()
  // The first tick behind it notes since when there is none, the next one sees how long that is.
  await pass(LISTENING.ends)
  await subject.ask('advance', LISTENING.lasts)
  await pass(LISTENING.ends)
}
const median = (numbers: readonly number[]): number =>
  [...numbers].sort((one, other) => one - other)[Math.floor(numbers.length / 2)] as number
const never = (at: number): string => `Observation?subject=Patient/never${at}&code=x`
const percent = (ratio: number): string => `${(ratio * 100).toFixed(1)} %`

const without: Cost[] = []
const beside: Cost[] = []
const medianOf = (costs: readonly Cost[], of: keyof Cost): number => median(costs.map((one) => one[of]))

/** The creates of the second server for one of the first, by CPU time and by time: medians of pairs, of which each begins with the other. */
const compare = async (bare: Server, busy: Server, keep = true): Promise<Cost> => {
  const own: Cost[] = []
  for (let round = 0; round < SETTLE; round += 1) for (const one of [bare, busy]) await measure(one)
  for (let pair = 0; pair < pairs; pair += 1) {
    const isTurned = pair % 2 === 1
    const first = await measure(isTurned ? busy : bare)
    const second = await measure(isTurned ? bare : busy)
    const [one, other] = isTurned ? [second, first] : [first, second]
    if (keep) without.push(one)
    if (keep) beside.push(other)
    own.push({ cpu: one.cpu / other.cpu, time: one.time / other.time })
  }
  return { cpu: medianOf(own, 'cpu'), time: medianOf(own, 'time') }
}
const compareWith = async (bare: Server, busy: Server, profile: boolean): Promise<Cost> => {
  const clients = await open(busy, queries, never)
  const ratio = await compare(bare, busy)
  if (profile) {
    await bare.subject.profile(`${profileFolder}/without.cpuprofile`, () => measure(bare, 'final', 2_000))
    await busy.subject.profile(`${profileFolder}/beside.cpuprofile`, () => measure(busy, 'final', 2_000))
  }
  await close(busy, clients)
  return ratio
}
const both = (one: Cost, other: Cost): Cost => ({
  cpu: Math.sqrt(one.cpu * other.cpu),
  time: Math.sqrt(one.time * other.time),
})

const [first, second] = [await startServer(), await startServer()]
for (const one of [first, second]) await close(one, await open(one, AT_ONCE, never))
for (let round = 0; round < WARM_UP; round += 1) for (const one of [first, second]) await measure(one)
const found: Cost[] = []
for (let cycle = 0; cycle < cycles; cycle += 1) {
  const [one, other] = cycle % 2 === 1 ? [second, first] : [first, second]
  const atOther = await compareWith(one, other, profileFolder !== undefined && cycle === 0)
  const atOne = await compareWith(other, one, false)
  found.push(both(atOther, atOne))
  const neither = await compare(first, second, false)
  console.log(
    `cycle ${found.length}: ${percent(found.at(-1)?.cpu as number)} (at one ${percent(atOther.cpu)}, at the other ${percent(atOne.cpu)}; ` +
      `without any the second server has ${percent(neither.cpu)} of the first), load ${loadavg()[0]?.toFixed(2)}`,
  )
}
console.log(
  `creates with ${queries} live queries, none hit, against none open, in the middle of ${cycles} cycles: ${percent(medianOf(found, 'cpu'))} ` +
    `by CPU time (${medianOf(without, 'cpu').toFixed(0)} and ${medianOf(beside, 'cpu').toFixed(0)} µs each), ${percent(medianOf(found, 'time'))} ` +
    `by time (${medianOf(without, 'time').toFixed(0)} and ${medianOf(beside, 'time').toFixed(0)} µs)`,
)

const heapOf = async ({ subject }: Server): Promise<number> => (await subject.ask<MemoryUse>('memory')).heap
await heapOf(first) // a first collection leaves what only a second one frees
const empty = await heapOf(first)
const held = await open(first, queries, never)
console.log(`${Math.round(((await heapOf(first)) - empty) / queries)} bytes of heap for a query`)
await close(first, held)

const hitters = await open(second, HITS, (at) => `Observation?status=amended&code:not=never${at}`)
const hits: number[] = []
for (let pair = 0; pair < HIT_ROUNDS; pair += 1) {
  const missed = await measure(second, 'final', HIT_CREATES)
  const hit = await measure(second, 'amended', HIT_CREATES)
  hits.push((hit.cpu - missed.cpu) / HITS)
}
if (profileFolder !== undefined)
  await second.subject.profile(`${profileFolder}/hits.cpuprofile`, () => measure(second, 'amended', 200))
await close(second, hitters)
console.log(`each of ${HITS} hits on one connection: ${median(hits).toFixed(1)} µs of CPU of the server`)
for (const { subject } of [first, second]) await subject.stop()
process.exit(0)
