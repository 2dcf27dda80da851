/** Searches beside a write that takes long, on SQLite: what was stored before it is found at once, and found. */
// database: sqlite, the one kind with an insert buffer beside reads of their own
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { type AnyPlugin, definePlugin } from '../../../kernel/index.ts'
import database from '../../../plugins/database/index.ts'
import { sqliteKind } from '../../support/database-kinds.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { createManualClock } from '../../support/manual-clock.ts'
import { searchDefinitions } from '../../support/search-definitions.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'

const LARGE_BYTES = 65_536 // bodies of at least this many bytes count as large here

interface Gate {
  readonly plugin: AnyPlugin
  /** Resolves when such a write is inside its transaction. */
  readonly entered: Promise<void>
  open(): void
}

/** Holds transactions open: of a Patient of the family Held, and of a deletion. */
const createGate = (): Gate => {
  const entered = Promise.withResolvers<void>()
  const opened = Promise.withResolvers<void>()
  const plugin = definePlugin({
    name: 'gate',
    setup({ hooks }) {
      hooks.onWrite.tapPromise('hold', async ({ interaction, resource }) => {
        if (interaction.kind !== 'delete' && !JSON.stringify(resource ?? {}).includes('"Held"')) return
        entered.resolve()
        await opened.promise
      })
    },
  })
  return { plugin, entered: entered.promise, open: opened.resolve }
}

interface Context {
  server: TestServer
  gate: Gate
  remove(): Promise<void>
}

const test = suite<Context>('searches beside a write that takes long')
test.before.each(async (context) => {
  const { settings, remove } = await sqliteKind.fresh()
  context.gate = createGate()
  context.remove = remove
  context.server = await serverWith({
    plugins: [database, searchDefinitions(), ...fhirPlugins, context.gate.plugin],
    settings: { ...settings, fhir: { large_body_bytes: LARGE_BYTES } },
    // Its time does not pass: rows stay in the insert buffer until somebody asks for them.
    clock: createManualClock(),
  })
})
test.after.each(async ({ gate, server, remove }) => {
  gate.open()
  await server.stop()
  await remove()
})

const headers = { 'content-type': 'application/fhir+json' }
const patient = (family: string, note = ''): Record<string, unknown> => ({
  resourceType: 'Patient',
  name: [{ family, text: note }],
})
const create = (server: TestServer, url: string, body: unknown) =>
  server.inject({ method: 'POST', url, headers, payload: JSON.stringify(body) })
const post = async (server: TestServer, url: string, body: unknown): Promise<number> =>
  (await create(server, url, body)).statusCode
const found = async (server: TestServer, family: string): Promise<number> => {
  const answer = await server.inject(`/Patient?family=${family}&_sort=birthdate`)
  assert.is(answer.statusCode, 200, answer.body)
  return (answer.json().entry ?? []).length
}
/** The answer if it comes while the gate is closed, else undefined. */
const beforeOpening = async <T>(answer: Promise<T>, server: TestServer): Promise<T | undefined> => {
  const turns = async (): Promise<undefined> => {
    // The search takes some turns of the event loop; reads beside it bound how many are enough.
    for (let n = 0; n < 200; n += 1) {
      await server.inject('/metadata')
      await new Promise((resolve) => setImmediate(resolve))
    }
    return undefined
  }
  return Promise.race([answer, turns()])
}

const entry = (family: string, note?: string): Record<string, unknown> => ({
  resource: patient(family, note),
  request: { method: 'POST', url: 'Patient' },
})
const transaction = (...entries: readonly unknown[]): Record<string, unknown> => ({
  resourceType: 'Bundle',
  type: 'transaction',
  entry: entries,
})
const longWrites: readonly (readonly [string, string, unknown])[] = [
  ['a large resource', '/Patient', patient('Held', 'x'.repeat(LARGE_BYTES))],
  [
    'a transaction of many entries',
    '/',
    transaction(...Array.from({ length: 200 }, () => entry('Other')), entry('Held')),
  ],
  [
    'a transaction of a few entries with much content',
    '/',
    transaction(...Array.from({ length: 3 }, () => entry('Other', 'x'.repeat(60_000))), entry('Held')),
  ],
]
for (const [what, url, body] of longWrites)
  test(`${what}: what was stored before is found meanwhile`, async ({ server, gate }) => {
    assert.is(await post(server, '/Patient', patient('Early')), 201)
    const writing = post(server, url, body)
    await gate.entered
    assert.is(await beforeOpening(found(server, 'Early'), server), 1)
    assert.is(await found(server, 'Held'), 0)
    gate.open()
    assert.ok((await writing) < 300)
    assert.is(await found(server, 'Held'), 1)
  })

test('a deletion, which needs the index itself: who asks beside it misses nothing of what was stored before', async ({
  server,
  gate,
}) => {
  const gone = await create(server, '/Patient', patient('Gone'))
  assert.is(await post(server, '/Patient', patient('Early')), 201)
  const deleting = server.inject({ method: 'DELETE', url: `/Patient/${gone.json().id}` })
  await gate.entered
  const early = found(server, 'Early')
  await beforeOpening(early, server)
  gate.open()
  assert.is((await deleting).statusCode, 204)
  assert.is(await early, 1)
})

test.run()
