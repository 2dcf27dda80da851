/** PostgreSQL restarted and killed under concurrent writers: what was acknowledged is there, versions have no gaps. KILLS=100 kills more often. */
// database: postgres, because it is what is killed
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type AnyPlugin, createKernel, definePlugin, type Kernel } from '../../kernel/index.ts'
import database from '../../plugins/database/index.ts'
import { Database } from '../../plugins/database/service.ts'
import probes from '../../plugins/probes/index.ts'
import { fhirPlugins } from '../support/fhir-plugins.ts'
import { findLosses } from '../support/losses.ts'
import { type Postgres, startPostgres } from '../support/postgres.ts'
import { stubDefinitions } from '../support/stub-definitions.ts'
import { until } from '../support/until.ts'

const WRITERS = 8
const FAULTS = Number(process.env.KILLS ?? 9)
const MODES = ['fast', 'immediate', 'kill'] as const
const BETWEEN = 30 // writes acknowledged between two faults
const WAIT_MS = 60_000

let postgres: Postgres
test.before(async () => {
  postgres = await startPostgres()
})
test.after(() => postgres.stop())

const serve = async (name: string, databasePlugin: AnyPlugin): Promise<Kernel> => {
  await postgres.createDatabase(name)
  const kernel = await createKernel({
    plugins: [databasePlugin, stubDefinitions(), ...fhirPlugins, probes],
    settings: {
      database: { kind: 'postgres', postgres_url: postgres.url(undefined, name) },
      conformance: { update_as_create: true },
    },
    log: { level: 'silent' },
  })
  await kernel.start()
  return kernel
}

interface Known {
  readonly created: string[]
  readonly versions: Map<string, number>
  readonly statuses: Map<number, number>
  writes: number
}

/** Resolves when PostgreSQL accepts connections again: until then a writer that was refused would be refused for nothing. */
let accepts: Promise<void> = Promise.resolve()

/** Creates and updates until told to stop; notes what was acknowledged, and every status. */
const write = async (kernel: Kernel, writer: number, known: Known, goesOn: () => boolean): Promise<void> => {
  const headers = { 'content-type': 'application/fhir+json' }
  const note = (status: number): boolean => {
    known.statuses.set(status, (known.statuses.get(status) ?? 0) + 1)
    if (status < 300) known.writes += 1
    return status < 300
  }
  while (goesOn()) {
    const created = await kernel.inject({
      method: 'POST',
      url: '/Patient',
      headers,
      payload: '{"resourceType":"Patient"}',
    })
    if (note(created.statusCode)) known.created.push((created.json() as { id: string }).id)
    const id = `w${writer}`
    const payload = JSON.stringify({ resourceType: 'Basic', id, code: { text: `${known.writes}` } })
    const updated = await kernel.inject({ method: 'PUT', url: `/Basic/${id}`, headers, payload })
    if (note(updated.statusCode))
      known.versions.set(id, Number((updated.json() as { meta: { versionId: string } }).meta.versionId))
    else {
      await accepts
      await new Promise(setImmediate)
    }
  }
}

const lossesOf = (kernel: Kernel, known: Known): Promise<string[]> =>
  findLosses(async (path) => {
    const answer = await kernel.inject(path)
    return { status: answer.statusCode, json: () => answer.json() }
  }, known)

/** Settles when the next fault has struck; made anew for the one after it. */
let struck = Promise.withResolvers<void>()

const runFaults = async (kernel: Kernel, faults: number): Promise<Known> => {
  const known: Known = { created: [], versions: new Map(), statuses: new Map(), writes: 0 }
  let running = true
  const writers = Array.from({ length: WRITERS }, (_, writer) => write(kernel, writer, known, () => running))
  for (let fault = 0; fault < faults; fault += 1) {
    const enough = known.writes + BETWEEN
    await until(() => known.writes >= enough, WAIT_MS, 'acknowledged writes')
    const { promise, resolve } = Promise.withResolvers<void>()
    accepts = promise
    await postgres.restart(MODES[fault % MODES.length] as (typeof MODES)[number])
    resolve()
    struck.resolve()
    struck = Promise.withResolvers()
    await until(async () => (await kernel.inject('/readyz')).statusCode === 200, WAIT_MS, 'the server to be ready')
  }
  running = false
  await Promise.all(writers)
  return known
}

test(`restarted or killed ${FAULTS} times under ${WRITERS} writers, it loses nothing that was acknowledged`, async () => {
  const kernel = await serve('faults', database)
  const known = await runFaults(kernel, FAULTS)
  assert.equal(await lossesOf(kernel, known), [])
  assert.ok(known.writes >= FAULTS * BETWEEN)
  for (const status of known.statuses.keys()) assert.ok([200, 201, 503].includes(status), `status ${status}`)
  assert.is((await kernel.inject('/livez')).statusCode, 200)
  await kernel.stop()
})

let isHasty = false

/** The same database plugin with the one fault that must never be: it answers before COMMIT, once the server has started. */
const hasty = definePlugin({
  ...(database as AnyPlugin),
  setup: (host) =>
    (database as AnyPlugin).setup({
      ...host,
      provide: (service, instance) => {
        let slow: Promise<void> | undefined
        const kept = instance as Database
        const early: Database = {
          ...kept,
          transact: (work, options) => {
            if (!isHasty) return kept.transact(work, options)
            return new Promise((resolve, reject) => {
              kept
                .transact(async (transaction) => {
                  const answer = await work(transaction)
                  resolve(answer)
                  // One transaction per fault is slow to commit: believed by its client, gone with the fault.
                  const { promise } = struck
                  if (slow !== promise) {
                    slow = promise
                    await promise
                  }
                  return answer
                })
                .catch(reject)
            })
          },
        }
        host.provide(service, (service === (Database as unknown) ? early : instance) as never)
      },
    }),
})

test('the same check finds the losses of a server that answers before COMMIT', async () => {
  const kernel = await serve('hasty', hasty)
  isHasty = true
  const losses = await lossesOf(kernel, await runFaults(kernel, 3))
  assert.ok(losses.length > 0)
  await kernel.stop()
})

test.run()
