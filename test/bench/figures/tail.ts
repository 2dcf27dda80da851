/**
 * Figure T: the slow ones. A create among creates, a read among writes, reads beside queries that take long. Here over a
 * thousand resources and a long history; the figure `search` asks the same of its largest population.
 */
import { startPostgres } from '../../support/postgres.ts'
import type { Bench, Figure } from '../bench.ts'
import { besideBusyCore } from '../busy.ts'
import { type LoadResult, load, toGet, toSend } from '../client.ts'
import { median, type Spread, spreadOf } from '../compare.ts'
import { createDice } from '../corpus/random.ts'
import { type Body, makeBodies, seed, seedPeople } from '../corpus/seed.ts'
import { createPlace, type House, startHouse } from '../house.ts'
import type { Settings } from '../plugins.ts'
import { millis, percent, rate, times } from '../table.ts'

const READERS = 16 // connections, as in the figure of reads
const WRITERS = 4
const SUPERSEDED = 60_000 // versions that the slow query looks at: about 100 ms
const READS = 1_000 // resources read

/** PostgreSQL as an operator runs it: every COMMIT on the disk, tables vacuumed and analysed. */
export const AS_RUN = { shared_buffers: '1GB', max_wal_size: '4GB', fsync: 'on', autovacuum: 'on' } as const

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

/**
 * `path`: of a query that takes about 100 ms. Reads beside it are held against reads beside a core that is busy with
 * something else, because a busy core alone makes the other one slower; the rates of reads alone are told, too.
 */
export const reportReadsBeside = async (bench: Bench, kind: string, ready: Ready, path: string): Promise<void> => {
  const { address } = ready.house
  const slow = (): string => toGet(address, path)
  const next = reads(ready)
  const read = (): Promise<LoadResult> => load({ address, connections: READERS, next, seconds: bench.seconds })
  await load({ address, connections: 1, next: slow, requests: 3 })
  const one = await load({ address, connections: 1, next: slow, requests: 10 })
  await load({ address, connections: READERS, next, seconds: 1 })
  bench.say(`reading, alone, beside a busy core and beside queries of ${millis(one.at(0.5))}`)
  const rounds: { alone: LoadResult; busy: LoadResult; slow: LoadResult }[] = []
  for (let n = 0; n < bench.rounds; n += 1)
    rounds.push({
      alone: await read(),
      busy: await besideBusyCore(read),
      slow: await during((signal) => load({ address, connections: 1, next: slow, signal }), read),
    })
  const share = (side: 'busy' | 'slow', of: 'busy' | 'alone'): Spread =>
    spreadOf(rounds.map((round) => round[side].perSecond / round[of].perSecond))
  const { median: kept, least, most } = share('slow', 'busy')
  bench.report({
    figure: `T reads beside slow queries, ${kind}`,
    required: '≥ 80 %',
    measured: percent(kept),
    spread: `${percent(least)} … ${percent(most)}`,
    ok: kept >= 0.8,
    beside: [
      `of reads beside a busy core: ${rate(median(rounds.map((round) => round.slow.perSecond)))} of ${rate(median(rounds.map((round) => round.busy.perSecond)))}`,
      `of reads alone ${percent(share('slow', 'alone').median)}, which a busy core slows to ${percent(share('busy', 'alone').median)}`,
      `p99 ${millis(median(rounds.map((round) => round.slow.at(0.99))))}`,
      `one client in a row of ${path.replace(/\?.*/, '')} queries of ${millis(one.at(0.5))} each`,
    ].join('; '),
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

/** `unbound`: where its slow queries run in threads of its own, which need a second core. */
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
    const server = await startPostgres({ settings: AS_RUN })
    const startOn =
      (settings: Settings): Start =>
      (unbound) =>
        startHouse(bench, place, { settings, unbound })
    try {
      await server.createDatabase('tail')
      await measureKind(bench, 'sqlite', startOn({}))
      const database = { kind: 'postgres', postgres_url: server.url(undefined, 'tail') }
      await measureKind(bench, 'postgres', () => startOn({ database })(false))
    } finally {
      await server.stop()
      place.remove()
    }
  },
}
