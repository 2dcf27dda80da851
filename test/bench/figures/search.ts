/**
 * Figures 7 and 8: searches against the server's own reads, and the same searches over populations of several sizes, on
 * SQLite and on PostgreSQL. All sizes are loaded first and then asked in turns; figure T is taken over the largest.
 */
import pg from 'pg'
import { startPostgres } from '../../support/postgres.ts'
import type { Bench, Figure } from '../bench.ts'
import { load, toGet } from '../client.ts'
import { compare, median, type Round, spreadOf } from '../compare.ts'
import { MEASURES } from '../corpus/clinical.ts'
import { createDice } from '../corpus/random.ts'
import { FAMILIAR, populate, type Searched } from '../corpus/searched.ts'
import { createPlace, type House, startHouse } from '../house.ts'
import { measure, profile } from '../measure.ts'
import type { Settings } from '../plugins.ts'
import { both, millis, percent, times } from '../table.ts'
import { AS_RUN, reportReadsBeside, reportTail } from './tail.ts'

const CONNECTIONS = 16
const WARM = 16_000 // requests of each side, and to each population, before a figure is measured
const ASKED = 400 // searches of a turn at one connection: some hundredths of a second
const TURNS = 5 // of each population in a round
const MIN_POPULATION = 10_000 // resources of the smallest population; the next ones hold ten times as many, up to --resources

const CREATED = 1_000 // resources sent for figure T, in turns
const SLOW_MS = 100 // of the search that reads are measured beside, about

interface Population extends Searched {
  readonly size: number
  house: House
}

/** Words are not searched here, and cost as much as all other rows of a resource. */
const LOADING: Settings = {
  fhir: { full_text: 'none' },
  conformance: { validation: 'structure', reference_policy: 'fhir' },
  audit: { enabled: false },
  request_log: { enabled: false },
}
const ASKING: Settings = { fhir: LOADING.fhir as Settings[string] }

const CACHED_SHARE = 0.1
const ENTRY_BYTES = 2_000 // about what the cache reckons for an observation of this corpus
/** A cache for a tenth of the resources, as the figure of uniform reads has it: then every size misses as often. */
const withShare = (size: number): Settings => ({
  fhir: { ...ASKING.fhir, cache_bytes: Math.floor(size * CACHED_SHARE * ENTRY_BYTES) },
})
const sizesUpTo = (most: number): readonly number[] => {
  const sizes = [Math.min(MIN_POPULATION, most)]
  while ((sizes.at(-1) as number) < most) sizes.push(Math.min((sizes.at(-1) as number) * 10, most))
  return sizes
}

const reportShare = async (
  bench: Bench,
  kind: string,
  { house, reads, asks, size }: Population,
  what: 'selective' | 'name',
  required: number,
  title: string,
): Promise<void> => {
  const { address } = house
  const dice = createDice(9)
  const side =
    (next: () => string) =>
    (seconds: number): Promise<Round> =>
      measure(house, { address, connections: CONNECTIONS, next, seconds })
  const searching = side(() => toGet(address, asks[what](dice)))
  const reading = side(() => toGet(address, dice.pick(reads)))
  // Hot against hot: what is asked for is in memory when it has come twice, however fast the machine is.
  for (const next of [() => toGet(address, asks[what](dice)), () => toGet(address, dice.pick(reads))])
    await load({ address, connections: CONNECTIONS, next, requests: WARM })
  const comparison = await compare(
    bench.rounds,
    () => searching(bench.seconds),
    () => reading(bench.seconds),
  )
  await profile(bench, `search-${what}-${kind}`, house, searching)
  const { speed } = comparison
  bench.report({
    figure: `7 ${title}, ${kind}`,
    required: `≥ ${percent(required)}`,
    measured: percent(speed.median),
    spread: `${percent(speed.least)} … ${percent(speed.most)}`,
    ok: speed.median >= required,
    beside: `${both(comparison)}; over ${size} resources`,
  })
}

const reportGrowth = async (
  bench: Bench,
  kind: string,
  populations: readonly Population[],
  what: 'selective' | 'familiar' | 'tokens',
  most: number,
  title: string,
): Promise<void> => {
  const round = async ({ house: { address }, asks }: Population, seed: number): Promise<number> => {
    const dice = createDice(seed)
    const next = (): string => toGet(address, asks[what](dice))
    return (await load({ address, connections: 1, requests: ASKED, next })).at(0.95)
  }
  // A server that has just started compiles its code: each population is asked as often before it is measured.
  for (const { house, asks } of populations) {
    const { address } = house
    const dice = createDice(1)
    await load({ address, connections: CONNECTIONS, next: () => toGet(address, asks[what](dice)), requests: WARM })
  }
  const rounds: number[][] = []
  for (let n = 0; n < bench.rounds * TURNS; n += 1) {
    const row: number[] = []
    for (const population of populations) row.push(await round(population, n + 2))
    rounds.push(row)
  }
  const growth = spreadOf(rounds.map((row) => (row.at(-1) as number) / (row[0] as number)))
  const p95 = populations.map(({ size }, at) => `${size}: ${millis(median(rounds.map((row) => row[at] as number)))}`)
  bench.report({
    figure: `8 ${title}, p95 growth, ${kind}`,
    required: `≤ ${times(most)}`,
    measured: times(growth.median),
    spread: `${times(growth.least)} … ${times(growth.most)}`,
    ok: growth.median <= most,
    beside: p95.join(', '),
  })
}

/** Observations of a few codes looked at one by one and counted: of as many codes as take about so long. */
const findSlow = async ({ address }: House): Promise<string> => {
  const codes = MEASURES.map(([code]) => code)
  const paths = [1, 2, 3, 4, 6, 8]
    .filter((number) => number <= codes.length)
    .map(
      (number) => `/Observation?code=${codes.slice(0, number).join(',')}&value-quantity=gt10&_total=accurate&_count=1`,
    )
  const timed: { path: string; off: number }[] = []
  for (const path of paths) {
    const { at } = await load({ address, connections: 1, next: () => toGet(address, path), requests: 5 })
    timed.push({ path, off: Math.abs(Math.log(at(0.5) / SLOW_MS)) })
  }
  return timed.reduce((best, one) => (one.off < best.off ? one : best)).path
}

/** `at`: which population. Loaded by a server without what loading need not pay for, and asked by one with its defaults. */
type Start = (at: number, settings: Settings, unbound?: boolean) => Promise<House>

/** Starts all of them again with other settings. */
const restartAll = async (
  start: Start,
  populations: readonly Population[],
  settingsOf: (size: number) => Settings,
): Promise<void> => {
  for (const [at, population] of populations.entries()) {
    await population.house.stop()
    population.house = await start(at, settingsOf(population.size))
  }
}

const reportSlow = async (bench: Bench, kind: string, start: Start, populations: Population[]): Promise<void> => {
  const largest = populations.at(-1) as Population
  const { reads, size } = largest
  const ready = { paths: reads.slice(0, CREATED), bodies: largest.more(CREATED) }
  const named = `${kind}, over ${size}`
  await reportTail(bench, named, { ...ready, house: largest.house })
  await largest.house.stop()
  largest.house = await start(populations.length - 1, ASKING, true)
  await reportReadsBeside(bench, named, { ...ready, house: largest.house }, await findSlow(largest.house))
}

/** `settle`: does after a population was loaded what a database does of itself some time later. */
const measureAll = async (
  bench: Bench,
  kind: string,
  start: Start,
  settle?: (at: number) => Promise<void>,
): Promise<void> => {
  const populations: Population[] = []
  try {
    for (const [at, size] of sizesUpTo(bench.resources).entries()) {
      bench.say(`${kind}: creating ${size} resources`)
      const loader = await start(at, LOADING)
      const filled = await populate(loader.address, size, bench.say).finally(() => loader.stop())
      await settle?.(at)
      populations.push({ ...filled, size, house: await start(at, ASKING) })
    }
    bench.say(`${kind}: searching`)
    const [smallest] = populations as [Population, ...Population[]]
    const hasGrown = populations.length > 1
    // First, while all of them have been asked equally often.
    if (hasGrown) {
      await reportGrowth(bench, kind, populations, 'selective', 1.5, 'patient and code')
      // Of as many patients everywhere: what grows is what is stored, and not what is asked for as well.
      await reportGrowth(bench, kind, populations, 'familiar', 1.5, `patient and code, of ${FAMILIAR} patients`)
      await reportGrowth(bench, kind, populations, 'tokens', 2, 'three tokens, newest 20')
    }
    await reportShare(bench, kind, smallest, 'selective', 0.6, 'search patient and code')
    await reportShare(bench, kind, smallest, 'name', 0.65, 'search name prefix')
    if (!hasGrown) return
    await restartAll(start, populations, withShare)
    await reportGrowth(bench, kind, populations, 'selective', 1.5, 'patient and code, a tenth in memory')
    await restartAll(start, populations, () => ASKING)
    await reportSlow(bench, kind, start, populations)
  } finally {
    for (const { house } of populations) await house.stop()
  }
}

const onSqlite = async (bench: Bench): Promise<void> => {
  const places = sizesUpTo(bench.resources).map(() => createPlace())
  try {
    await measureAll(bench, 'sqlite', (at, settings, unbound = false) =>
      startHouse(bench, places[at] as (typeof places)[number], { settings, unbound }),
    )
  } finally {
    for (const place of places) place.remove()
  }
}

/** What autovacuum and the checkpointer would do while it is measured. */
const vacuum = async (url: string): Promise<void> => {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    for (const statement of ['VACUUM ANALYZE', 'CHECKPOINT']) await client.query(statement)
  } finally {
    await client.end()
  }
}

const onPostgres = async (bench: Bench): Promise<void> => {
  const place = createPlace()
  const server = await startPostgres({ settings: AS_RUN })
  try {
    for (const at of sizesUpTo(bench.resources).keys()) await server.createDatabase(`size${at}`)
    const urlOf = (at: number): string => server.url(undefined, `size${at}`)
    // Its slow queries run in processes of PostgreSQL, on the core of the load.
    const start: Start = (at, settings) =>
      startHouse(bench, place, { settings: { ...settings, database: { kind: 'postgres', postgres_url: urlOf(at) } } })
    await measureAll(bench, 'postgres', start, (at) => vacuum(urlOf(at)))
  } finally {
    await server.stop()
    place.remove()
  }
}

export const search: Figure = {
  name: 'search',
  description: 'searches against own reads, their growth up to --resources, and the slow ones there, on both databases',
  async run(bench) {
    await onSqlite(bench)
    await onPostgres(bench)
  },
}
