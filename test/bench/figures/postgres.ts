/**
 * Figure 12: creates and reads on PostgreSQL, eight connections. The statements of real creates are recorded once; then
 * the storage sends them as it does, and raw pg clients write the very same rows one by one, in turns.
 */
import pg from 'pg'
import { type AnyPlugin, createKernel, definePlugin, type Kernel } from '../../../kernel/index.ts'
import database from '../../../plugins/database/index.ts'
import {
  Database,
  insertImmediately,
  type Sql,
  type SqlParam,
  type Transaction,
} from '../../../plugins/database/service.ts'
import { insertIndexRows } from '../../../plugins/search/index/tables.ts'
import { readCurrent } from '../../../plugins/storage/tables.ts'
import { type Postgres, startPostgres } from '../../support/postgres.ts'
import type { Bench, Figure } from '../bench.ts'
import { compare, type Round } from '../compare.ts'
import { makeObservation } from '../corpus/clinical.ts'
import { createDice } from '../corpus/random.ts'
import { housePlugins, settingsFor } from '../plugins.ts'
import { both, percent, times } from '../table.ts'

const CONNECTIONS = 8
const CREATES = 1_000 // recorded once, replayed by both sides
const READS = 10_000 // of a round

interface Step {
  readonly statement: Sql
  readonly params: readonly SqlParam[]
}

/** The database plugin with every statement of every transaction written down. */
const recording = (creates: Step[][]): AnyPlugin => {
  const plugin = database as AnyPlugin
  const record = (kept: Database): Database =>
    Object.create(kept, {
      transact: {
        value: <T>(work: (transaction: Transaction) => Promise<T>) =>
          kept.transact((transaction) => {
            const steps: Step[] = []
            creates.push(steps)
            return work({
              beforeCommit: (participant, item) => transaction.beforeCommit(participant, item),
              hold: (name) => transaction.hold(name),
              queue: (name) => transaction.queue(name),
              afterCommit: (tell) => transaction.afterCommit(tell),
              afterEnd: (tell) => transaction.afterEnd(tell),
              publish: (publication) => transaction.publish(publication),
              assertOptimistically: (statement, params) => transaction.assertOptimistically(statement, params),
              get: (statement, params) => transaction.get(statement, params),
              all: (statement, params) => transaction.all(statement, params),
              longQuery: (statement, params, signal) => transaction.longQuery(statement, params, signal),
              insertDeferred(insert, params, last) {
                return insertImmediately(this, insert, params, last)
              },
              run: (statement, params) => {
                steps.push({ statement, params })
                return transaction.run(statement, params)
              },
            })
          }),
      },
    })
  return definePlugin({
    ...plugin,
    setup: (host: Parameters<typeof plugin.setup>[0]) =>
      plugin.setup({
        ...host,
        provide: (service, instance) =>
          host.provide(service, (service === (Database as unknown) ? record(instance as Database) : instance) as never),
      }),
  })
}

const serve = async (postgres: Postgres, name: string, plugin: AnyPlugin): Promise<Kernel> => {
  await postgres.createDatabase(name)
  const kernel = await createKernel({
    plugins: housePlugins.map((one) => (one === (database as AnyPlugin) ? plugin : one)),
    settings: settingsFor(housePlugins, {
      database: { kind: 'postgres', postgres_url: postgres.url(undefined, name) },
      cluster: { db_pool: CONNECTIONS },
      conformance: { reference_policy: 'fhir' },
    }),
    log: { level: 'silent' },
  })
  await kernel.start()
  return kernel
}

/** Runs `work` for 0 … count-1 in so many lanes and tells the pace and this process's CPU time. */
const inLanes = async (count: number, work: (at: number, lane: number) => Promise<unknown>): Promise<Round> => {
  let next = 0
  const cpu = process.cpuUsage()
  const started = performance.now()
  const lane = async (_: unknown, number: number): Promise<void> => {
    for (let at = next++; at < count; at = next++) await work(at, number)
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, lane))
  const seconds = (performance.now() - started) / 1000
  const { user, system } = process.cpuUsage(cpu)
  return { perSecond: count / seconds, cpu: (user + system) / count, busy: (user + system) / 1e6 / seconds }
}

const SINGLE = new Map(
  Object.values(insertIndexRows).flatMap(({ counts }) =>
    counts.map((statement, at) => [statement, { one: counts[0] as Sql, rows: at + 1 }] as const),
  ),
)

/** The serial form of a step: a statement for each of its rows. */
const rowByRow = ({ statement, params }: Step): readonly Step[] => {
  const single = SINGLE.get(statement)
  if (single === undefined) return [{ statement, params }]
  const width = params.length / single.rows
  return Array.from({ length: single.rows }, (_, row) => ({
    statement: single.one,
    params: params.slice(row * width, (row + 1) * width),
  }))
}

const connectRaw = async (url: string): Promise<pg.Client[]> => {
  const clients = Array.from({ length: CONNECTIONS }, () => new pg.Client({ connectionString: url }))
  await Promise.all(clients.map((client) => client.connect()))
  return clients
}

export const postgres: Figure = {
  name: 'postgres',
  description: 'creates and reads on PostgreSQL over eight connections, against raw pg with the same rows',
  async run(bench: Bench) {
    const server = await startPostgres({ settings: { fsync: 'on', synchronous_commit: 'on' } })
    const recorded: Step[][] = []
    try {
      bench.say('recording the rows of creates')
      const source = await serve(server, 'recorded', recording(recorded))
      const dice = createDice(3)
      recorded.length = 0
      for (let n = 0; n < CREATES; n += 1) {
        const payload = makeObservation(dice, 'Patient/p1', 'Encounter/e1')
        const headers = { 'content-type': 'application/fhir+json' }
        const { statusCode, body } = await source.inject({ method: 'POST', url: '/Observation', headers, payload })
        if (statusCode !== 201) throw new Error(body)
      }
      const creates = recorded.filter((steps) => steps.some(({ statement }) => statement.name === 'fhir.insert'))
      await source.stop()

      const own = await serve(server, 'own', database)
      await (await serve(server, 'raw', database)).stop()
      const db = own.get(Database)
      const raw = await connectRaw(server.url(undefined, 'raw'))
      const serial = creates.map((steps) => steps.flatMap(rowByRow))
      const each = (list: readonly (readonly Step[])[]): string =>
        (list.reduce((sum, one) => sum + one.length, 0) / list.length).toFixed(1)
      const clear = async (name: string): Promise<void> => {
        const client = new pg.Client({ connectionString: server.url(undefined, name) })
        await client.connect()
        const { rows } = await client.query<{ names: string }>(
          "SELECT string_agg(quote_ident(tablename), ', ') AS names FROM pg_tables WHERE schemaname = 'public' AND (tablename LIKE 'ix%' OR tablename IN ('resource', 'history'))",
        )
        await client.query(`TRUNCATE ${rows[0]?.names}`)
        await client.end()
      }
      const replayOwn = async (): Promise<Round> => {
        await clear('own')
        return inLanes(creates.length, (at) =>
          db.transact(async (transaction) => {
            for (const { statement, params } of creates[at] as Step[]) transaction.run(statement, params)
          }),
        )
      }
      const replayRaw = async (): Promise<Round> => {
        await clear('raw')
        return inLanes(creates.length, async (at, lane) => {
          const client = raw[lane] as pg.Client
          await client.query('BEGIN')
          for (const { statement, params } of serial[at] as Step[])
            await client.query({ name: statement.name, text: statement.postgres, values: [...params] })
          await client.query('COMMIT')
        })
      }
      await replayOwn()
      await replayRaw()
      bench.say('creating')
      const created = await compare(bench.rounds, replayOwn, replayRaw)
      bench.report({
        figure: '12 PostgreSQL create, 8 connections',
        required: '≥ 2.50x',
        measured: times(created.speed.median),
        spread: `${times(created.speed.least)} … ${times(created.speed.most)}`,
        ok: created.speed.median >= 2.5,
        beside: `${both(created)}; ${each(creates)} statements of ${each(serial)}`,
      })

      const keys = creates.map((one) => {
        const insert = one.find(({ statement }) => statement.name === 'fhir.insert') as Step
        return [insert.params[1] as number, insert.params[2] as string] as const
      })
      const key = (at: number) => keys[at % keys.length] as readonly [number, string]
      bench.say('reading')
      const reads = await compare(
        bench.rounds,
        () => inLanes(READS, async (at) => db.get(readCurrent, key(at))),
        () =>
          inLanes(READS, (at, lane) =>
            (raw[lane] as pg.Client).query({ name: 'read', text: readCurrent.postgres, values: [...key(at)] }),
          ),
      )
      bench.report({
        figure: '12 PostgreSQL read, 8 connections',
        required: '≥ 60 %',
        measured: percent(reads.speed.median),
        spread: `${percent(reads.speed.least)} … ${percent(reads.speed.most)}`,
        ok: reads.speed.median >= 0.6,
        beside: both(reads),
      })
      await Promise.all(raw.map((client) => client.end()))
      await own.stop()
    } finally {
      await server.stop()
    }
  },
}
