/**
 * What the writer lease takes of creates on PostgreSQL over eight connections: the check in each COMMIT, and the row that it
 * writes where other servers follow. Three servers with a copy of one database each, in short turns of the same number of
 * creates, so that their tables stay of one size.
 */
import pg from 'pg'
import { type Postgres, startPostgres } from '../../support/postgres.ts'
import type { Bench, Figure } from '../bench.ts'
import { median } from '../compare.ts'
import { createDice } from '../corpus/random.ts'
import { type Body, makeBodies, seedPeople, toCreates } from '../corpus/seed.ts'
import { createPlace, type Place as Folder, startHouse } from '../house.ts'
import { type Interleaved, interleave } from '../interleave.ts'
import { measure, profile } from '../measure.ts'
import type { Interval } from '../median-interval.ts'
import type { Settings } from '../plugins.ts'
import { micros, percent, rate } from '../table.ts'

const CONNECTIONS = 8
const CREATES = 2_000 // of a turn, which takes about a second
const ROUNDS = 6 // for each of --rounds: all orders of the three sides
const WARM = 6_000 // creates of each side before it is measured
const PROFILED = 8_000
const PEOPLE = 200
const BODIES = 2_000 // different ones, sent again and again
const REQUIRED = 0.95
const FILLED = 'filled'

/** No checkpoint, and no file of the log that has to be made, while it is measured. */
const STEADY = {
  fsync: 'on',
  synchronous_commit: 'on',
  shared_buffers: '1GB',
  checkpoint_timeout: '1h',
  max_wal_size: '16GB',
  min_wal_size: '2GB',
  bgwriter_lru_maxpages: '0',
}
const MEGABYTE_OF_LOG = "SELECT pg_logical_emit_message(false, '', repeat('x', 1000000))"
const LOG_MEGABYTES = 1_500 // more than all turns write

type Side = 'without' | 'leased' | 'followed'
const SIDES: readonly Side[] = ['without', 'leased', 'followed']
const TITLES = { without: 'without', leased: 'with the lease', followed: 'with the lease and a follower' } as const

interface Measured {
  readonly perSecond: number
  /** CPU time of a create in microseconds: of the server and of PostgreSQL. */
  readonly cpu: number
  readonly postgresCpu: number
  /** Bytes of the log for a create. */
  readonly log: number
}

/** A member that is recorded and reads nothing: what it would take is not the primary's. */
const MEMBER =
  "INSERT INTO cluster_member (server, role, host, pid, build, beat, epoch, seq, at) VALUES ('bench', 'replica', '', 0, '', 0, 0, 0, now()) ON CONFLICT (server) DO UPDATE SET beat = cluster_member.beat + 1"

const settingsOn = (server: Postgres, name: string): Settings => ({
  database: { kind: 'postgres', postgres_url: server.url(undefined, name) },
})

const within = ({ low, high }: Interval): string => `${percent(low)} … ${percent(high)}`

interface Place {
  readonly bench: Bench
  readonly server: Postgres
  /** A connection to the database of the side that is followed: another one for each turn would take time of it. */
  readonly onlooker: pg.Client
  readonly bodies: readonly Body[]
}

const start = async ({ bench, server, onlooker, bodies }: Place, folder: Folder, side: Side) => {
  const settings = settingsOn(server, side)
  const house = await startHouse(bench, folder, { settings, process: side === 'without' ? 'together' : 'house' })
  const requests = toCreates(house.address, bodies)
  let at = 0
  const next = () => requests[at++ % requests.length] as Buffer
  const logged = async (): Promise<number> =>
    Number((await onlooker.query("SELECT pg_current_wal_lsn() - '0/0' AS bytes")).rows[0].bytes)
  /** So many creates. */
  const turn = async (creates = CREATES): Promise<Measured> => {
    const log = await logged()
    const seconds = server.cpu() ?? Number.NaN
    const load = { address: house.address, connections: CONNECTIONS, requests: creates, next }
    const { perSecond, cpu } = await measure(house, load)
    const postgresCpu = (((server.cpu() ?? Number.NaN) - seconds) * 1e6) / creates
    return { perSecond, cpu, postgresCpu, log: ((await logged()) - log) / creates }
  }
  return { house, turn }
}

const report = (bench: Bench, { turns, ratio }: Interleaved<Side, Measured>, one: Side, other: Side): void => {
  const speed = ratio(one, other, 'perSecond')
  const of = (measured: keyof Measured, show: (value: number) => string): string => {
    const [ours, others] = [one, other].map((side) => show(median(turns[side].map((turn) => turn[measured]))))
    return `${ours} of ${others} (${within(ratio(one, other, measured))})`
  }
  bench.report({
    figure: `PostgreSQL create, ${TITLES[one]} / ${TITLES[other]}`,
    required: `≥ ${percent(REQUIRED)}`,
    measured: percent(speed.median),
    spread: within(speed),
    // Undecided where the interval holds what is required.
    ok: speed.low >= REQUIRED ? true : speed.high < REQUIRED ? false : undefined,
    beside: [
      `${turns[one].length} rounds, ${of('perSecond', rate)}`,
      `CPU of the server ${of('cpu', micros)}, of PostgreSQL ${of('postgresCpu', micros)}`,
      `log ${of('log', (bytes) => `${bytes.toFixed(0)} B`)}`,
    ].join('; '),
  })
}

const measureAll = async (bench: Bench, server: Postgres, folders: readonly Folder[]): Promise<void> => {
  await server.createDatabase(FILLED)
  bench.say('installing packages')
  const filling = await startHouse(bench, folders[0] as Folder, { settings: settingsOn(server, FILLED) })
  const dice = createDice(2)
  const people = await seedPeople(filling.address, dice, PEOPLE).finally(() => filling.stop())
  const bodies = makeBodies(dice, people, BODIES)
  const started = new Map<Side, Awaited<ReturnType<typeof start>>>()
  const turnOf = (side: Side, creates?: number) => started.get(side)!.turn(creates)
  for (const side of SIDES) await server.createDatabase(side, FILLED)
  const onlooker = new pg.Client(server.url(undefined, 'followed'))
  await onlooker.connect()
  const follow = async (): Promise<void> => void (await onlooker.query(MEMBER))
  try {
    const place = { bench, server, onlooker, bodies }
    for (const [at, side] of SIDES.entries()) started.set(side, await start(place, folders[at] as Folder, side))
    await follow()
    bench.say('creating, to compile')
    for (const side of SIDES) await turnOf(side, WARM)
    await follow()
    bench.say('making files of the log')
    // Those that the checkpoint frees are used again.
    await server.admin(`${MEGABYTE_OF_LOG} FROM generate_series(1, ${LOG_MEGABYTES})`, 'CHECKPOINT')
    bench.say('creating with the lease and without')
    const found = await interleave<Side, Measured>(
      bench.rounds * ROUNDS,
      {
        without: () => turnOf('without'),
        leased: () => turnOf('leased'),
        followed: () => turnOf('followed'),
      },
      follow,
    )
    const { rows } = await onlooker.query('SELECT count(*)::int AS n FROM cluster_change')
    if (rows[0].n === 0) throw new Error('the commits had no rows')
    report(bench, found, 'leased', 'without')
    report(bench, found, 'followed', 'leased')
    report(bench, found, 'followed', 'without')
    for (const side of SIDES)
      await profile(bench, `lease-${side}`, started.get(side)!.house, () => turnOf(side, PROFILED))
  } finally {
    await onlooker.end()
    for (const { house } of started.values()) await house.stop()
  }
}

export const lease: Figure = {
  name: 'lease',
  description:
    'creates on PostgreSQL with the writer lease, and with a server that follows, against those without the lease',
  async run(bench: Bench) {
    const server = await startPostgres({ settings: STEADY })
    const folders = SIDES.map(() => createPlace())
    try {
      await measureAll(bench, server, folders)
    } finally {
      for (const folder of folders) folder.remove()
      await server.stop()
    }
  },
}
