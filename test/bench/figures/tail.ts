/**
 * Figure T: the slow ones. A create among creates, a read among writes, reads beside queries that take long. Here over a
 * thousand resources and a long history; the figure `search` asks the same of its largest population.
 */
import { startPostgres } from '../../support/postgres.ts'
import type { Bench, Figure } from '../bench.ts'
import { type LoadResult, load, toGet, toSend } from '../client.ts'
import { median, spreadOf } from '../compare.ts'
import { createDice } from '../corpus/random.ts'
import { type Body, makeBodies, seed, seedPeople } from '../corpus/seed.ts'
import { createPlace, type House, startHouse } from '../house.ts'
import type { Settings } from '../plugins.ts'
import { millis, percent, rate, times } from '../table.ts'

const READERS = 16 // connections, as in the figure of reads
const WRITERS = 4
const SUPERSEDED = 60_000 // versions that the slow query looks at: about 100 ms
const READS = 1_000 // resources read

/** A server that holds something, and what is sent to it. */
export interface Ready {
  readonly house: House
  /** Resources that are there, to be read. */
  readonly paths: readonly string[]
  /** Resources to be created. */
  readonly bodies: readonly Body[]
}

const creates = ({ house, bodies }: Ready): (() => Buffer) => {
  let at = 0
  const requests = bodies.map(({ type, text }) => toSend(house.address, 'POST', `/${type}`, text))
  return () => requests[at++ % requests.length] as Buffer
}

const reads = ({ house, paths }: Ready): (() => string) => {
  const dice = createDice(8)
  return () => toGet(house.address, dice.pick(paths))
}

const reportCreates = async (bench: Bench, kind: string, ready: Ready): Promise<void> => {
  bench.say('creating over one connection')
  const next = creates(ready)
  const { address } = ready.house
  await load({ address, connections: 1, next, seconds: 1 })
  const results: LoadResult[] = []
  for (let n = 0; n < bench.rounds; n += 1)
    results.push(await load({ address, connections: 1, next, seconds: bench.seconds }))
  const ratios = results.map((result) => result.at(0.99) / result.at(0.5))
  const { least, most } = spreadOf(ratios)
  bench.report({
    figure: `T create, p99 to p50, ${kind}`,
    required: '≤ 15x',
    measured: times(median(ratios)),
    spread: `${times(least)} … ${times(most)}`,
    ok: median(ratios) <= 15,
    beside: `p50 ${millis(median(results.map((one) => one.at(0.5))))}, p99 ${millis(median(results.map((one) => one.at(0.99))))}, one connection`,
  })
}

/** Runs `beside` for as long as `work` takes. */
const during = async <T>(beside: (signal: AbortSignal) => Promise<unknown>, work: () => Promise<T>): Promise<T> => {
  const ended = new AbortController()
  const running = beside(ended.signal)
  try {
    return await work()
  } finally {
    ended.abort()
    await running
  }
}

const reportReadsAmongWrites = async (bench: Bench, kind: string, ready: Ready): Promise<void> => {
  bench.say('reading, idle and under writes')
  const { address } = ready.house
  const next = reads(ready)
  const nextCreate = creates(ready)
  const read = (): Promise<LoadResult> => load({ address, connections: READERS, next, seconds: bench.seconds })
  await load({ address, connections: READERS, next, seconds: 1 })
  const pairs: { idle: LoadResult; busy: LoadResult }[] = []
  for (let n = 0; n < bench.rounds; n += 1) {
    const idle = await read()
    const busy = await during((signal) => load({ address, connections: WRITERS, next: nextCreate, signal }), read)
    pairs.push({ idle, busy })
  }
  const ratios = pairs.map(({ idle, busy }) => busy.at(0.99) / idle.at(0.99))
  const { least, most } = spreadOf(ratios)
  bench.report({
    figure: `T read p99 under writes, ${kind}`,
    required: '≤ 3x idle',
    measured: times(median(ratios)),
    spread: `${times(least)} … ${times(most)}`,
    ok: median(ratios) <= 3,
    beside: `p99 ${millis(median(pairs.map(({ busy }) => busy.at(0.99))))} of ${millis(median(pairs.map(({ idle }) => idle.at(0.99))))}; ${READERS} readers, ${WRITERS} writers`,
  })
}

/** Of a server bound to one core. */
export const reportTail = async (bench: Bench, kind: string, ready: Ready): Promise<void> => {
  await reportCreates(bench, kind, ready)
  await reportReadsAmongWrites(bench, kind, ready)
}

/** `path`: of a query that takes about 100 ms. Whoever has one core has no second one for it: of an unbound server. */
export const reportReadsBeside = async (bench: Bench, kind: string, ready: Ready, path: string): Promise<void> => {
  const { address } = ready.house
  const slow = (): string => toGet(address, path)
  const next = reads(ready)
  const read = (): Promise<LoadResult> => load({ address, connections: READERS, next, seconds: bench.seconds })
  await load({ address, connections: 1, next: slow, requests: 3 })
  const alone = await load({ address, connections: 1, next: slow, requests: 10 })
  await load({ address, connections: READERS, next, seconds: 1 })
  bench.say(`reading, alone and beside queries of ${millis(alone.at(0.5))}`)
  const pairs: { idle: LoadResult; busy: LoadResult }[] = []
  for (let n = 0; n < bench.rounds; n += 1) {
    const idle = await read()
    const busy = await during((signal) => load({ address, connections: 1, next: slow, signal }), read)
    pairs.push({ idle, busy })
  }
  const ratios = pairs.map(({ idle, busy }) => busy.perSecond / idle.perSecond)
  const { least, most } = spreadOf(ratios)
  bench.report({
    figure: `T reads beside slow queries, ${kind}`,
    required: '≥ 80 %',
    measured: percent(median(ratios)),
    spread: `${percent(least)} … ${percent(most)}`,
    ok: median(ratios) >= 0.8,
    beside: `${rate(median(pairs.map(({ busy }) => busy.perSecond)))} of ${rate(median(pairs.map(({ idle }) => idle.perSecond)))}, p99 ${millis(median(pairs.map(({ busy }) => busy.at(0.99))))}; one client in a row of ${path.replace(/\?.*/, '')} queries of ${millis(alone.at(0.5))} each; not bound to a core`,
  })
}

/** Old versions that a history at one moment has to look at one by one. */
const supersede = async ({ house, paths, bodies }: Ready): Promise<void> => {
  let at = 0
  await load({
    address: house.address,
    connections: READERS,
    requests: SUPERSEDED,
    next: () => {
      const path = paths[at++ % paths.length] as string
      const [type, id] = path.slice(1).split('/') as [string, string]
      const text = (bodies.find((body) => body.type === type) as Body).text.replace('{', `{"id":"${id}",`)
      return toSend(house.address, 'PUT', path, text)
    },
  })
}

type Start = (unbound: boolean) => Promise<House>

const measureKind = async (bench: Bench, kind: string, start: Start): Promise<void> => {
  const dice = createDice(6)
  const bound = await start(false)
  let filled: Omit<Ready, 'house'>
  try {
    const people = await seedPeople(bound.address, dice, 50)
    const { references } = await seed(bound.address, makeBodies(dice, people, READS))
    filled = { paths: references.map((reference) => `/${reference}`), bodies: makeBodies(dice, people, READS) }
    await reportTail(bench, kind, { house: bound, ...filled })
  } finally {
    await bound.stop()
  }
  const house = await start(true)
  try {
    const ready = { house, ...filled }
    bench.say(`making ${SUPERSEDED} old versions`)
    await supersede(ready)
    await reportReadsBeside(bench, kind, ready, `/_history?_at=${new Date().toISOString()}&_count=1`)
  } finally {
    await house.stop()
  }
}

export const tail: Figure = {
  name: 'tail',
  description: 'p99 of creates, reads under writes, reads beside slow queries, on SQLite and PostgreSQL',
  async run(bench) {
    const place = createPlace()
    const server = await startPostgres({ settings: { shared_buffers: '1GB', max_wal_size: '4GB' } })
    const startOn =
      (settings: Settings): Start =>
      (unbound) =>
        startHouse(bench, place, { settings, unbound })
    try {
      await server.createDatabase('tail')
      await measureKind(bench, 'sqlite', startOn({}))
      const database = { kind: 'postgres', postgres_url: server.url(undefined, 'tail') }
      await measureKind(bench, 'postgres', startOn({ database }))
    } finally {
      await server.stop()
      place.remove()
    }
  },
}
