/** Counts the round trips of a create with references: they are looked up in the round trip that writes it. */
// database: postgres, the one kind where a question is a round trip
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createKernel, type Kernel } from '../../../kernel/index.ts'
import audit from '../../../plugins/audit/index.ts'
import references from '../../../plugins/references/index.ts'
import { type Postgres, startPostgres } from '../../support/postgres.ts'
import { countTrips } from '../../support/round-trips.ts'
import { basic } from '../../support/server-with.ts'
import { startTcpProxy, type TcpProxy } from '../../support/tcp-proxy.ts'
import { until } from '../../support/until.ts'

const WAIT_MS = 5_000 // five beats

let postgres: Postgres
let proxy: TcpProxy
let kernel: Kernel
test.before(async () => {
  postgres = await startPostgres()
  proxy = await startTcpProxy(postgres.port)
  await postgres.createDatabase('trips')
  const url = postgres.url(undefined, 'trips').replace(`:${postgres.port}`, `:${proxy.port}`)
  kernel = await createKernel({
    plugins: [...basic, references, audit],
    settings: { database: { kind: 'postgres', postgres_url: url }, cluster: { db_pool: 2 } },
    log: { level: 'silent' },
  })
  await kernel.start()
})
test.after(async () => {
  await kernel.stop()
  proxy.stop()
  await postgres.stop()
})

const post = (type: string, more: object = {}) =>
  kernel.inject({
    method: 'POST',
    url: `/${type}`,
    headers: { 'content-type': 'application/fhir+json' },
    payload: JSON.stringify({ resourceType: type, ...more }),
  })
const observe = (subject: string) =>
  post('Observation', { status: 'final', code: { text: 'x' }, subject: { reference: subject } })

test('a create with a reference, its rows, its audit event and its COMMIT are one round trip', async () => {
  const { id } = (await post('Patient')).json() as { id: string }
  const trips: number[] = []
  // The first creates prepare their statements, background work may send queries, and until the first beat of its lease the
  // server assumes that other servers follow, and notifies them.
  const oneTrip = async (): Promise<boolean> => {
    proxy.taken()
    assert.is((await observe(`Patient/${id}`)).statusCode, 201)
    trips.push(countTrips(proxy))
    return trips.at(-1) === 1
  }
  await until(oneTrip, WAIT_MS, 'a create of one round trip').catch(() => assert.unreachable(trips.join(' ')))
})

test('a reference to nothing is refused by name, and creates sent with it are not', async () => {
  const { id } = (await post('Patient')).json() as { id: string }
  const answers = await Promise.all([`Patient/${id}`, 'Patient/nobody', `Patient/${id}`].map(observe))
  assert.equal(
    answers.map(({ statusCode }) => statusCode),
    [201, 422, 201],
  )
  const refused = answers.find(({ statusCode }) => statusCode === 422)!
  const [issue] = (refused.json() as { issue: { code: string; expression: string[] }[] }).issue
  assert.is(issue?.code, 'not-found')
  assert.equal(issue?.expression, ['Observation.subject'])
})

test.run()
