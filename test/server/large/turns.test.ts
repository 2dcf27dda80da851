/** One large body, or a resource that is large, does not hold up others: the main thread works on it in short turns, whatever is done. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type LargeBody, largeBodies } from '../../bodies/large-bodies.ts'
import { chosenKind } from '../../support/database-kinds.ts'
import { until } from '../../support/until.ts'
import { testTurnsOfReads } from './turns-of-reads.ts'
import { assertShort, MEGA, SIZES, startTurnsServer, type TurnsServer } from './turns-server.ts'

const MAX_BYTES = 1280 * MEGA // of memory, with four bodies at once

let server: TurnsServer
test.before(async () => {
  server = await startTurnsServer()
})
test.after(() => server.stop())

test('the resource that large ones refer to is stored', async () => {
  assert.is((await fetch(`${server.base}/Patient/probe`)).status, 200)
})

const all = largeBodies(SIZES, 'stored')
/** These bodies are refused, only validated, or differ in how a thread reads them, so the database makes no difference. */
const ONCE = ['collection that is broken', 'QuestionnaireResponse, nested', '$validate']
const bodies = chosenKind.name === 'postgres' ? all.filter(({ name }) => !ONCE.includes(name)) : all
const collection = bodies.find(({ name }) => name === 'collection') as LargeBody

for (const one of bodies)
  test(`${one.name}: answered in short turns`, async () => {
    await server.turns()
    const { status, text } = await server.send(one)
    assert.ok(one.status.includes(status), `${status} ${text.slice(0, 300)}`)
    assert.ok(text.length < 8_000_000, `${text.length} characters`)
    const { most } = await server.turns()
    assertShort(most)
  })

test('four at once are answered, within bounded memory', async () => {
  await server.turns()
  const answers = await Promise.all(Array.from({ length: 4 }, () => server.send(collection)))
  assert.equal(
    answers.map(({ status }) => status),
    [201, 201, 201, 201],
  )
  const { most, rss } = await server.turns()
  assertShort(most)
  assert.ok(rss < MAX_BYTES, `${rss} bytes`)
})

const count = async (): Promise<number> =>
  ((await (await fetch(`${server.base}/Bundle?_summary=count`)).json()) as { total: number }).total

test('a client that leaves ends the work on its body, and nothing is stored', async () => {
  const before = await count()
  const left: Promise<unknown>[] = []
  for (let n = 0; n < 2; n += 1) left.push(server.send(collection, (end) => end()).catch((error) => error))
  for (const error of await Promise.all(left)) assert.instance(error, Error)
  const { status } = await server.send(collection)
  assert.is(status, 201)
  await until(async () => (await count()) === before + 1, 5_000, 'the one that stayed')
})

test('a stored large resource is deleted in short turns, and is gone from the index', async () => {
  await server.turns()
  const { status } = await server.send({ method: 'DELETE', path: '/Bundle/stored', headers: {}, body: Buffer.alloc(0) })
  assert.is(status, 204)
  const { most } = await server.turns()
  assertShort(most)
  const found = (await (await fetch(`${server.base}/Bundle?_id=stored&_summary=count`)).json()) as { total: number }
  assert.is(found.total, 0)
})

// Reads work on the stored text in the same way on each database, so SQLite is enough.
if (chosenKind.name !== 'postgres') testTurnsOfReads(() => server)

test.run()
