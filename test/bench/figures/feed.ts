/**
 * The writer lease and the feed of changes on PostgreSQL: creates over eight connections with the check of the lease in each
 * COMMIT and without, then with and without a server that follows, in turns, and the time until a follower has heard of a
 * change, with notifications and without.
 */
import pg from 'pg'
import { createKernel, type Kernel } from '../../../kernel/index.ts'
import { makeDatabasePlugin } from '../../../plugins/database/database-plugin.ts'
import { startPostgres } from '../../support/postgres.ts'
import type { Bench, Figure } from '../bench.ts'
import { compare, type Round } from '../compare.ts'
import { makeObservation } from '../corpus/clinical.ts'
import { createDice } from '../corpus/random.ts'
import { housePlugins, settingsFor } from '../plugins.ts'
import { both, percent } from '../table.ts'
import { reportHeard } from './heard.ts'

const CONNECTIONS = 8
const CREATES = 2_000 // of a round
const HEARD = 1_000 // creates whose way to a follower is measured
/** Creates spread over some twenty beats, and no multiple of one. */
const LOOKING = { creates: 200, everyMs: 97 }
const BEAT_MS = 1_200 // a little more than between two beats, with which the primary hears who follows

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

export const feed: Figure = {
  name: 'feed',
  description:
    'creates on PostgreSQL with and without the lease, and a server that follows, and when that one hears of them',
  async run(bench: Bench) {
    const server = await startPostgres({ settings: { fsync: 'on', synchronous_commit: 'on' } })
    try {
      const databaseOf = async (name: string) => {
        await server.createDatabase(name)
        return { kind: 'postgres', postgres_url: server.url(undefined, name) }
      }
      const postgres = await databaseOf('feed')
      const start = async (plugins: typeof housePlugins, settings: Record<string, unknown>): Promise<Kernel> => {
        const kernel = await createKernel({ plugins, settings, log: { level: 'silent' } })
        await kernel.start()
        return kernel
      }
      const writing = async (plugins: typeof housePlugins, database: typeof postgres): Promise<Kernel> =>
        start(plugins, settingsFor(plugins, { database, conformance: { reference_policy: 'fhir' } }))
      const primary = await writing(housePlugins, postgres)
      const client = new pg.Client(postgres.postgres_url)
      await client.connect()
      const dice = createDice(3)
      const create = async (kernel = primary): Promise<void> => {
        const payload = makeObservation(dice, 'Patient/p1', 'Encounter/e1')
        const headers = { 'content-type': 'application/fhir+json' }
        const { statusCode, body } = await kernel.inject({ method: 'POST', url: '/Observation', headers, payload })
        if (statusCode !== 201) throw new Error(body)
      }
      const createMany = async (kernel = primary): Promise<Round> => {
        let left = CREATES
        const cpu = process.cpuUsage()
        const started = performance.now()
        const lane = async (): Promise<void> => {
          for (; left > 0; ) {
            left -= 1
            await create(kernel)
          }
        }
        await Promise.all(Array.from({ length: CONNECTIONS }, lane))
        const seconds = (performance.now() - started) / 1000
        const { user, system } = process.cpuUsage(cpu)
        return { perSecond: CREATES / seconds, cpu: (user + system) / CREATES, busy: (user + system) / 1e6 / seconds }
      }
      /** A member that is recorded and reads nothing: what it would take is not the primary's. */
      const followed = async (): Promise<Round> => {
        await client.query(
          "INSERT INTO cluster_member (server, role, host, pid, build, beat, epoch, seq, at) VALUES ('bench', 'replica', '', 0, '', 0, 0, 0, now())",
        )
        await pause(BEAT_MS)
        const round = await createMany()
        const { rows } = await client.query('SELECT count(*)::int AS n FROM cluster_change')
        await client.query('DELETE FROM cluster_member; TRUNCATE cluster_change')
        if (rows[0].n === 0) throw new Error('the commits had no rows')
        return round
      }
      const alone = async (): Promise<Round> => {
        await pause(BEAT_MS)
        return createMany()
      }
      const unfenced = housePlugins.map((one) =>
        one.name === 'database' ? makeDatabasePlugin({ hasLease: false }) : one,
      )
      const other = await writing(unfenced, await databaseOf('unfenced'))
      bench.say('creating, to compile')
      await createMany()
      await createMany(other)
      bench.say('creating with and without the lease')
      const fenced = await compare(
        bench.rounds,
        () => createMany(),
        () => createMany(other),
      )
      await other.stop()
      bench.report({
        figure: 'PostgreSQL create, with the lease / without',
        required: '≥ 95 %',
        measured: percent(fenced.speed.median),
        spread: `${percent(fenced.speed.least)} … ${percent(fenced.speed.most)}`,
        ok: fenced.speed.median >= 0.95,
        beside: both(fenced),
      })
      bench.say('creating with and without a follower')
      const created = await compare(bench.rounds, followed, alone)
      bench.report({
        figure: 'PostgreSQL create, followed / not',
        required: '≥ 95 %',
        measured: percent(created.speed.median),
        spread: `${percent(created.speed.least)} … ${percent(created.speed.most)}`,
        ok: created.speed.median >= 0.95,
        beside: both(created),
      })

      bench.say('waiting for a follower to hear')
      const parts = { primary, database: postgres, create }
      await reportHeard(bench, { ...parts, hasNotifications: true, creates: HEARD, everyMs: 0, requiredMs: 20 })
      bench.say('waiting for a follower that gets no notifications')
      await reportHeard(bench, { ...parts, ...LOOKING, hasNotifications: false, requiredMs: 1_600 })
      await client.end()
      await primary.stop()
    } finally {
      await server.stop()
    }
  },
}
