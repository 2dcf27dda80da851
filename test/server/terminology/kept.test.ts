/** For how long expansions are kept: until a definition changes, on any server of the database, or changes may have been missed. */
// npm test: postgres, on which it has a test more
import pg from 'pg'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { ChangeFeed, Database } from '../../../plugins/database/service.ts'
import terminology from '../../../plugins/terminology/index.ts'
import { chosenKind } from '../../support/database-kinds.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { createManualClock } from '../../support/manual-clock.ts'
import { serverWith } from '../../support/server-with.ts'
import { terminologyDefinitions } from '../../support/terminology-definitions.ts'
import { until } from '../../support/until.ts'
import { watchedDatabase } from '../../support/watched-database.ts'
import { writersTogether } from '../../support/writers-together.ts'

const WAIT_MS = 10_000
const LATER_MS = 31_000
const headers = { 'content-type': 'application/fhir+json' }

const definitions = terminologyDefinitions()

const open = async (isTogether = false) => {
  const { plugin, watch } = isTogether ? watchedDatabase(writersTogether) : watchedDatabase()
  const plugins = [plugin, definitions, ...fhirPlugins, terminology]
  const fresh = await chosenKind.fresh(plugins)
  const clock = createManualClock(Date.now())
  const server = await serverWith({
    plugins,
    settings: { ...fresh.settings, conformance: { update_as_create: true } },
    clock,
  })
  const put = async (codes: readonly string[]): Promise<void> => {
    const compose = { include: [{ system: 'http://colors.example', concept: codes.map((code) => ({ code })) }] }
    const set = { resourceType: 'ValueSet', id: 'v', url: 'http://sets.example/v', status: 'active', compose }
    const answer = await server.inject({ method: 'PUT', url: '/ValueSet/v', headers, payload: JSON.stringify(set) })
    assert.ok(answer.statusCode < 300, answer.body)
  }
  const read = async (): Promise<string> => {
    const answer = await server.inject('/ValueSet/$expand?url=http://sets.example/v')
    assert.is(answer.statusCode, 200, answer.body)
    return (answer.json() as { expansion: { contains: { code: string }[] } }).expansion.contains
      .map(({ code }) => code)
      .join()
  }
  /** Queries that an expansion takes. */
  const cost = async (): Promise<number> => {
    const before = watch.asked
    await read()
    return watch.asked - before
  }
  const stop = async (): Promise<void> => {
    await server.stop()
    await fresh.remove()
  }
  return { server, clock, fresh, put, read, cost, stop }
}

test('an expansion is looked up once, and again when its definition has changed, however much later', async () => {
  const { clock, put, read, cost, stop } = await open()
  await put(['red'])
  assert.is(await read(), 'red')
  await clock.advance(LATER_MS)
  assert.is(await cost(), 0, 'nothing has changed')
  await put(['red', 'blue'])
  assert.is(await read(), 'red,blue')
  await stop()
})

if (chosenKind.name === 'postgres') {
  test('an expansion is looked up again once changes may have been missed', async () => {
    const { server, fresh, put, read, cost, stop } = await open()
    await put(['red'])
    await read()
    assert.is(await cost(), 0)
    let gaps = 0
    const gap = (): void => {
      gaps += 1
    }
    server.get(ChangeFeed).listen({ name: 'test', commit: () => undefined, gap })
    const client = new pg.Client((fresh.settings.database as { postgres_url: string }).postgres_url)
    await client.connect()
    await client.query('UPDATE cluster_mark SET seq = seq + 1')
    await client.end()
    await until(() => gaps > 0, WAIT_MS, 'the gap')
    assert.ok((await cost()) > 0)
    await stop()
  })

  test('without the writer lease, beside servers that nobody tells of, it is looked up again after 30 seconds', async () => {
    const { server, clock, put, read, cost, stop } = await open(true)
    assert.is(server.get(Database).status().feed, undefined)
    await put(['red'])
    await read()
    assert.is(await cost(), 0)
    await clock.advance(LATER_MS)
    assert.ok((await cost()) > 0)
    await stop()
  })
}

test.run()
