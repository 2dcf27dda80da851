/** Streams over many resources: broken off and gone on with behind a key, in other processes too, in bounded memory. */
// process: its own, because the collections that it asks for take longer the more others have left in memory
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { Kernel } from '../../../kernel/index.ts'
import { createKernel } from '../../../kernel/index.ts'
import database from '../../../plugins/database/index.ts'
import { Resources, type Session, type Streamed } from '../../../plugins/fhir/service.ts'
import { postgresKind, sqliteKind } from '../../support/database-kinds.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { watchHeldMemory } from '../../support/held-memory.ts'
import { stubDefinitions } from '../../support/stub-definitions.ts'
import { all } from './callers.ts'

const MANY = 3_000
const AT_ONCE = 500
const MB = 2 ** 20

const chosen = process.env.TEST_DATABASE === 'postgres' ? postgresKind : sqliteKind
const fresh = await chosen.fresh()
const start = async (): Promise<Kernel> => {
  const kernel = await createKernel({
    plugins: [database, stubDefinitions(), ...fhirPlugins],
    settings: { ...fresh.settings, fhir: { cache_bytes: 0 } },
    log: { stream: { write: () => undefined } },
  })
  await kernel.start()
  return kernel
}
const sessionOf = (kernel: Kernel): Session => kernel.get(Resources).as({ kind: 'internal', purpose: 'test' })

let kernel: Kernel
let session: Session
test.before(async () => {
  kernel = await start()
  session = sessionOf(kernel)
  const json = JSON.stringify({
    resourceType: 'Basic',
    text: { status: 'generated', div: `<div>${'x'.repeat(6_000)}</div>` },
  })
  for (let made = 0; made < MANY; made += AT_ONCE)
    await session.change(Array.from({ length: AT_ONCE }, () => ({ kind: 'create', type: 'Basic', json })))
})
test.after(async () => {
  await kernel.stop()
  await fresh.remove()
})

const take = async (stream: AsyncIterable<Streamed>, most: number): Promise<readonly Streamed[]> => {
  const taken: Streamed[] = []
  for await (const one of stream) if (taken.push(one) === most) break
  return taken
}

test('every resource once, newest first, though the server is stopped and another goes on', async () => {
  const whole = (await all(session.stream('Basic', ''))).map(({ id }) => id)
  assert.equal([whole.length, new Set(whole).size], [MANY, MANY])
  const found: string[] = []
  let after: string | undefined
  for (const most of [1, 499, 500, 501, MANY]) {
    // The last of these did not get to note its key: it is given again.
    const taken = await take(session.stream('Basic', '', after === undefined ? {} : { after }), most)
    const noted = most === MANY ? taken : taken.slice(0, Math.max(1, taken.length - 1))
    found.push(...noted.map(({ id }) => id))
    after = noted.at(-1)?.key
    await kernel.stop()
    kernel = await start()
    session = sessionOf(kernel)
    // Made after the stream began: not a part of it.
    await session.change([{ kind: 'create', type: 'Basic', json: '{"resourceType":"Basic"}' }])
  }
  assert.is(found.length, MANY)
  assert.equal(found, whole)
  assert.equal(await all(session.stream('Basic', '', { after: after as string })), [])
})

test('parts by number are the whole, and what is deleted meanwhile is left out', async () => {
  const numbers = (await all(session.stream('Basic', ''))).map(({ key }) => Number(key.split('.')[1]))
  const middle = numbers[1_499] as number
  const upper = await all(session.stream('Basic', '', { within: { above: middle } }))
  const lower = await all(session.stream('Basic', '', { within: { upTo: middle } }))
  const edge = await all(session.stream('Basic', '', { within: { above: middle, upTo: numbers[500] as number } }))
  assert.equal([upper.length, lower.length, edge.length], [1_499, numbers.length - 1_499, 999])
  const keys = [...upper, ...lower].map(({ key }) => Number(key.split('.')[1]))
  assert.equal(keys, numbers)
  const stream = session.stream('Basic', '')[Symbol.asyncIterator]()
  await stream.next()
  const gone = lower[0]?.id as string
  await session.change([{ kind: 'delete', type: 'Basic', id: gone }])
  let left = 1
  for (let next = await stream.next(); !next.done; next = await stream.next()) {
    left += 1
    assert.is.not(next.value.id, gone)
  }
  assert.is(left, numbers.length - 1)
})

test('what is streamed does not gather in memory', async () => {
  const used = watchHeldMemory()
  const before = await used()
  let [most, count] = [0, 0]
  for await (const held of session.stream('Basic', '')) {
    count += held.json.length > 0 ? 1 : 0
    if (count % 1_000 === 0) most = Math.max(most, (await used()) - before)
  }
  assert.ok(count >= MANY - 1)
  // All of them together take more than twice as much.
  assert.ok(most < 8 * MB, `${Math.round(most / MB)} MB`)
})

test.run()
