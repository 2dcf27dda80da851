/**
 * How long it takes until a replica has heard of a commit of the primary, with notifications and without. Both are processes
 * of their own, on a machine that they share with PostgreSQL and the load.
 */
import { type Postgres, startPostgres } from '../../support/postgres.ts'
import { startTcpProxy } from '../../support/tcp-proxy.ts'
import type { Bench, Figure } from '../bench.ts'
import { load, toSend } from '../client.ts'
import { makeObservation } from '../corpus/clinical.ts'
import { createDice } from '../corpus/random.ts'
import { createPlace, type Place, startHouse } from '../house.ts'
import type { Settings } from '../plugins.ts'
import { AS_RUN } from './tail.ts'

const NAME = 'feed'
const SECRETS = { dcr_token: 'd'.repeat(32), confidential_secret: 'c'.repeat(32) }
const WARM = 3_000 // creates
const HEARD = 5_000
const REQUIRED_MS = 20
/** Creates without notifications: over some twenty beats, and no multiple of one. */
const LOOKED = { creates: 200, everyMs: 97, requiredMs: 1_600 }
const BEAT_MS = 1_200 // a little more than between two beats, with which the primary hears who follows
const LISTEN = 'LISTEN refhir_change'
const NOBODY = 'LISTEN refhir_nobody' // as long: it replaces the other one in the bytes of a message

type Served = Awaited<ReturnType<typeof startHouse>>
type Times = readonly (readonly [seq: number, ms: number])[]

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** A way to the database on which a replica listens for what nobody sends. */
const withoutNotify = async ({ port }: Postgres) => {
  const proxy = await startTcpProxy(port)
  let isReplaced = false
  proxy.onClient = (chunk) => {
    const at = chunk.indexOf(LISTEN)
    if (at !== -1) chunk.write(NOBODY, at)
    isReplaced ||= at !== -1
    return 'pass'
  }
  return {
    port: proxy.port,
    stop() {
      proxy.stop()
      if (!isReplaced) throw new Error('the replica had notifications')
    },
  }
}

interface Heard {
  readonly creates: number
  /** Milliseconds in ascending order, of the creates that were heard of. */
  readonly sorted: readonly number[]
}

/** `work` creates so many resources at the primary. */
const hear = async (primary: Served, replica: Served, creates: number, work: () => Promise<void>): Promise<Heard> => {
  await pause(BEAT_MS)
  for (const one of [primary, replica]) await one.ask('takeTimes')
  await work()
  await pause(BEAT_MS + LOOKED.requiredMs)
  const heard = new Map(await replica.ask<Times>('takeTimes'))
  const delays = (await primary.ask<Times>('takeTimes')).map(([seq, ms]) => (heard.get(seq) ?? Number.NaN) - ms)
  return { creates, sorted: delays.filter((one) => !Number.isNaN(one)).toSorted((one, other) => one - other) }
}

/** `requiredMs`: undefined where the line only informs. */
const report = (bench: Bench, title: string, requiredMs: number | undefined, { creates, sorted }: Heard): void => {
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] as number
  bench.report({
    figure: `change on disk → heard by a replica, p99, ${title}`,
    required: requiredMs === undefined ? '' : `≤ ${requiredMs} ms`,
    measured: `${at(0.99).toFixed(1)} ms`,
    spread: `${at(0).toFixed(1)} … ${at(1).toFixed(1)} ms`,
    ok: requiredMs === undefined ? undefined : at(0.99) <= requiredMs && sorted.length > creates * 0.99,
    beside: `p50 ${at(0.5).toFixed(1)} ms, p90 ${at(0.9).toFixed(1)} ms of ${sorted.length} commits`,
  })
}

const measure = async (bench: Bench, server: Postgres, places: readonly [Place, Place]): Promise<void> => {
  const settingsOn = (port: number, cluster: Settings[string]): Settings => {
    const url = new URL(server.url(undefined, NAME))
    url.port = String(port)
    return {
      database: { kind: 'postgres', postgres_url: url.href },
      conformance: { reference_policy: 'fhir' },
      smart: SECRETS,
      cluster,
    }
  }
  const start = (place: Place, settings: Settings): Promise<Served> =>
    startHouse(bench, place, { settings, unbound: true, process: 'feed-times' })
  const [own, other] = places
  const primary = await start(own, settingsOn(server.port, {}))
  const follow = async (port: number, work: (replica: Served) => Promise<void>): Promise<void> => {
    const replica = await start(other, settingsOn(port, { role: 'replica', primary_url: primary.address }))
    await work(replica).finally(() => replica.stop())
  }
  try {
    const dice = createDice(3)
    const create = async (connections: number, requests: number): Promise<void> => {
      const next = () =>
        toSend(primary.address, 'POST', '/Observation', makeObservation(dice, 'Patient/p1', 'Encounter/e1'))
      await load({ address: primary.address, connections, requests, next })
    }
    await follow(server.port, async (replica) => {
      bench.say('creating, to compile')
      await create(1, WARM)
      for (const connections of [1, 8]) {
        bench.say(
          `waiting for a replica to hear, creating over ${connections} connection${connections === 1 ? '' : 's'}`,
        )
        const heard = await hear(primary, replica, HEARD, () => create(connections, HEARD))
        // Over eight connections load and servers take all of two cores.
        report(bench, `${connections} at once`, connections === 1 ? REQUIRED_MS : undefined, heard)
      }
    })
    const deaf = await withoutNotify(server)
    await follow(deaf.port, async (replica) => {
      bench.say('waiting for a replica that gets no notifications')
      const heard = await hear(primary, replica, LOOKED.creates, async () => {
        for (let n = 0; n < LOOKED.creates; n += 1) {
          await create(1, 1)
          await pause(LOOKED.everyMs)
        }
      })
      report(bench, 'without NOTIFY', LOOKED.requiredMs, heard)
    }).finally(deaf.stop)
  } finally {
    await primary.stop()
  }
}

export const feed: Figure = {
  name: 'feed',
  description: 'when a replica hears of creates on PostgreSQL, with notifications and without',
  async run(bench: Bench) {
    const server = await startPostgres({ settings: AS_RUN })
    const places = [createPlace(), createPlace()] as const
    try {
      await server.createDatabase(NAME)
      await measure(bench, server, places)
    } finally {
      for (const place of places) place.remove()
      await server.stop()
    }
  },
}
