/** What becomes of the terminology index when code systems change, when the server ends in between, and of what is loaded. */
// waits: for the thread that indexes code systems
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type AnyPlugin, definePlugin } from '../../../kernel/index.ts'
import database from '../../../plugins/database/index.ts'
import { ChangeFeed, Database, isNote, type MaybePromise, sql } from '../../../plugins/database/service.ts'
import terminology from '../../../plugins/terminology/index.ts'
import { type LoadedConcept, type LoadedSystem, TerminologyIndex } from '../../../plugins/terminology/service.ts'
import { chosenKind } from '../../support/database-kinds.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { LARGE, largeCodeSystem } from '../../support/large-code-system.ts'
import { createManualClock } from '../../support/manual-clock.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { terminologyDefinitions } from '../../support/terminology-definitions.ts'
import { until } from '../../support/until.ts'

type Json = Record<string, any>

const COUNT = 2_001 // the fewest that are large
const WAIT_MS = 30_000
const headers = { 'content-type': 'application/fhir+json' }
const systems = sql(
  'test.life',
  'SELECT source, name, edition, state, batches, size FROM tx_system WHERE source <> ? ORDER BY id',
)
const counts = sql('test.counts', 'SELECT DISTINCT system FROM tx_concept WHERE system <= 2')

const own = terminologyDefinitions()
/** With a large code system of a package. */
const withPackage = terminologyDefinitions('dicom-dcim')
const plugins = (plugin: AnyPlugin = terminology, definitions = own): readonly AnyPlugin[] => [
  database,
  definitions,
  ...fhirPlugins,
  plugin,
]
const settings = { conformance: { update_as_create: true } }
const put = async (server: TestServer, resource: Json): Promise<void> => {
  const url = `/${resource.resourceType}/${resource.id}`
  const answer = await server.inject({ method: 'PUT', url, headers, payload: JSON.stringify(resource) })
  assert.ok(answer.statusCode < 300, answer.body)
}
const idle = (server: TestServer): Promise<void> => server.get(TerminologyIndex).idle()
const rowsOf = async (server: TestServer, of: readonly string[] = ['stored', 'load']): Promise<string> =>
  (await server.get(Database).all<Json>(systems, ['package']))
    .filter(({ source }) => of.includes(source))
    .map(({ source, name, edition, state, size }) => `${source} ${name} ${edition} ${state} ${size}`)
    .join('; ')
/** What the code system says of a code: its display, or the status of the answer. */
const displayOf = async (server: TestServer, code: string, system = LARGE): Promise<string> => {
  const answer = await server.inject(`/CodeSystem/$lookup?system=${system}&code=${code}`)
  const { parameter = [] } = answer.json() as { parameter?: Json[] }
  return parameter.find(({ name }) => name === 'display')?.valueString ?? String(answer.statusCode)
}

/** Tests whose code systems have addresses of their own share this server. */
let shared: TestServer
test.before(async () => {
  shared = await serverWith({ plugins: plugins(), settings })
})
test.after(() => shared.stop())

test('a code system that is stored after hours without work is indexed at once', async () => {
  const clock = createManualClock(Date.now())
  const server = await serverWith({ plugins: plugins(), settings, clock })
  await clock.leap(3 * 3_600_000)
  await put(server, largeCodeSystem(COUNT))
  const isReady = async (): Promise<boolean> => (await rowsOf(server)) === `stored large 1 ready ${COUNT}`
  await until(isReady, WAIT_MS, 'the code system in the index')
  await server.stop()
})

test('a new version takes the place of the one before, whose rows are removed a while later', async () => {
  const clock = createManualClock(Date.now())
  const server = await serverWith({ plugins: plugins(terminology, withPackage), settings, clock })
  await put(server, largeCodeSystem(COUNT))
  await idle(server)
  assert.is(await displayOf(server, `C${COUNT}`), '404')
  await put(server, largeCodeSystem(COUNT + 1))
  assert.is.not(await displayOf(server, `C${COUNT}`), '404', 'right after the answer')
  await idle(server)
  assert.is.not(await displayOf(server, `C${COUNT}`), '404')
  assert.is(await rowsOf(server), `stored large 1 ended ${COUNT}; stored large 2 ready ${COUNT + 1}`)
  await clock.advance(61_000)
  const others = (): MaybePromise<Json[]> => server.get(Database).all<Json>(systems, ['stored'])
  const isReady = ({ state }: Json): boolean => state === 'ready'
  await until(async () => (await others()).some(isReady), WAIT_MS, 'a code system of the packages in the index')
  await idle(server)
  assert.is((await server.get(Database).all(counts, [])).length, 2)
  await clock.advance(9 * 60_000)
  assert.is((await server.get(Database).all(counts, [])).length, 2)
  const removed = async (): Promise<boolean> => {
    await clock.advance(61_000)
    return (await server.get(Database).all<Json>(systems, ['package'])).length === 1
  }
  await until(removed, WAIT_MS, 'the removal of the first version')
  assert.is(await rowsOf(server), `stored large 2 ready ${COUNT + 1}`)
  assert.is((await server.get(Database).all(counts, [])).length, 1)
  await server.stop()
})

test('a code system that was deleted, or has become small, is not in the index', async () => {
  const server = shared
  await put(server, largeCodeSystem(COUNT))
  await put(server, largeCodeSystem(COUNT, { id: 'other', url: 'http://other.example' }))
  await idle(server)
  await put(server, largeCodeSystem(5))
  assert.is((await server.inject({ method: 'DELETE', url: '/CodeSystem/other' })).statusCode, 204)
  await idle(server)
  assert.is(await rowsOf(server, ['stored']), `stored large 1 ended ${COUNT}; stored other 1 ended ${COUNT}`)
  assert.is(await displayOf(server, 'C7'), '404')
  assert.is(await displayOf(server, 'C7', 'http://other.example'), '404')
})

test('what was stored before there was an index gets into it when it is used', async () => {
  const fresh = await chosenKind.fresh(plugins())
  if (chosenKind.name === 'memory') return
  const without = definePlugin({
    ...terminology,
    setup(host) {
      terminology.setup(host)
      return undefined
    },
  })
  const before = await serverWith({ plugins: plugins(without), settings: { ...settings, ...fresh.settings } })
  await put(before, largeCodeSystem(COUNT))
  assert.is(await rowsOf(before), '')
  await before.stop()
  const server = await serverWith({ plugins: plugins(), settings: { ...settings, ...fresh.settings } })
  assert.is(await displayOf(server, 'C1'), 'chronic acute acute 1')
  await idle(server)
  assert.is(await rowsOf(server), `stored large 1 ready ${COUNT}`)
  assert.is(await displayOf(server, 'C1'), 'chronic acute acute 1')
  await server.stop()
  await fresh.remove()
})

test('what a server has begun before its end, the next one begins anew', async () => {
  if (chosenKind.name === 'memory') return
  const fresh = await chosenKind.fresh(plugins())
  const before = await serverWith({ plugins: plugins(), settings: { ...settings, ...fresh.settings } })
  await put(before, largeCodeSystem(COUNT))
  await idle(before)
  // As a kill leaves it.
  const unready = sql('test.unready', "UPDATE tx_system SET state = 'building', size = 500")
  await before.get(Database).transact((transaction) => transaction.run(unready, []))
  await before.stop()
  const server = await serverWith({ plugins: plugins(), settings: { ...settings, ...fresh.settings } })
  assert.is(await displayOf(server, 'C2000'), await displayOf(server, 'C2000'))
  assert.is.not(await displayOf(server, 'C2000'), '404', 'from memory')
  await idle(server)
  assert.is(await rowsOf(server), `stored large 1 ended 500; stored large 1 ready ${COUNT}`)
  assert.is.not(await displayOf(server, 'C2000'), '404')
  await server.stop()
  await fresh.remove()
})

const LOADED = 'http://loaded.example'
const TWICE = 'http://twice.example'
const loaded = (edition: string, version = edition): LoadedSystem => ({
  ...{ source: 'load', name: '/files/loaded', edition },
  header: {
    ...{ url: LOADED, version, name: 'Loaded', status: 'active', changed: undefined, supplements: undefined },
    ...{ language: 'en', content: 'complete', hierarchy: 'is-a', isCaseSensitive: true },
  },
})
const concept = (n: number, edition: string): LoadedConcept => ({
  code: `L${n}`,
  display: `${edition} ${n}`,
  // Of the batch behind this one: parents are found when all concepts are there.
  parents: n % 2 === 1 ? [`L${n + 99}`, 'nowhere'] : [],
  isInactive: n === 4,
})
const BATCH = 600

test('a load goes on behind the last whole batch, and takes the place of the one before when it is complete', async () => {
  const server = shared
  const index = server.get(TerminologyIndex)
  const asked: number[] = []
  const batches = (edition: string, fails: (n: number) => boolean) =>
    async function* (from: number) {
      for (let number = from; number < 3; number += 1) {
        asked.push(number)
        const list = Array.from({ length: BATCH }, (_, at) => concept(number * BATCH + at, edition))
        if (fails(number)) {
          // The first part of it is stored before the second one fails: it has no code.
          yield [...list.slice(0, 300), { code: null as unknown as string }]
          throw new Error('not reached')
        }
        yield list
      }
    }
  const lookup = (code: string): Promise<string> => displayOf(server, code, LOADED)
  assert.is(await lookup('L5'), '404')
  const notes: string[] = []
  server.get(ChangeFeed).listen({
    name: 'test',
    commit: ({ published }) => void notes.push(...published.filter(isNote).map(({ about }) => about)),
    gap: () => undefined,
  })
  await index.load(
    loaded('one'),
    batches('one', () => false),
  )
  assert.is(await lookup('L5'), 'one 5')
  await until(() => notes.length > 0, WAIT_MS, 'the note to other servers')
  assert.equal(notes, ['terminology'])

  asked.length = 0
  const failing = batches('two', (number) => number === 1)
  let failure: unknown
  await index.load(loaded('two'), failing).catch((error: unknown) => {
    failure = error
  })
  assert.ok(failure instanceof Error)
  assert.equal(asked, [0, 1])
  assert.is(await lookup('L5'), 'one 5', 'the one before stays in use')
  asked.length = 0
  assert.equal(
    await index.load(
      loaded('two'),
      batches('two', () => false),
    ),
    { size: 3 * BATCH, resumed: 1 },
  )
  assert.equal(asked, [1, 2])
  assert.is(await lookup('L5'), 'two 5')
  assert.is(
    await rowsOf(server, ['load']),
    `load /files/loaded one ended ${3 * BATCH}; load /files/loaded two ready ${3 * BATCH}`,
  )
  const subsumes = await server.inject(`/CodeSystem/$subsumes?system=${LOADED}&codeA=L600&codeB=L501`)
  assert.is((subsumes.json() as Json).parameter[0].valueCode, 'subsumes', 'across batches')
  const valueSet = {
    resourceType: 'ValueSet',
    status: 'active',
    compose: { inactive: false, include: [{ system: LOADED }] },
  }
  const expanded = await server.inject({
    ...{ method: 'POST', url: '/ValueSet/$expand', headers },
    payload: JSON.stringify({
      resourceType: 'Parameters',
      parameter: [
        { name: 'valueSet', resource: valueSet },
        { name: 'count', valueInteger: 2 },
        { name: 'offset', valueInteger: 3 },
      ],
    }),
  })
  const { expansion } = expanded.json() as Json
  assert.equal([expansion.total, ...expansion.contains.map(({ code }: Json) => code)], [3 * BATCH - 1, 'L3', 'L5'])
})

test('a code that is loaded twice is refused by name, and nothing is put into use', async () => {
  const server = shared
  const index = server.get(TerminologyIndex)
  let message = ''
  const one = { ...loaded('one'), name: '/files/twice' }
  await index
    .load({ ...one, header: { ...one.header, url: TWICE } }, async function* () {
      yield [concept(1, 'one')]
      yield [concept(2, 'one'), concept(1, 'one')]
    })
    .catch((error: Error) => {
      message = error.message
    })
  assert.match(message, 'The code system "http://twice.example" cannot be loaded: a code of batch 1 is there twice.')
  assert.is(await displayOf(server, 'L1', TWICE), '404')
})

test.run()
