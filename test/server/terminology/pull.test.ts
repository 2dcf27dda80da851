/** Definitions that are pulled from other FHIR servers: their use, and what becomes of them when a source fails. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { AnyPlugin } from '../../../kernel/index.ts'
import database from '../../../plugins/database/index.ts'
import { Database, sql } from '../../../plugins/database/service.ts'
import terminology from '../../../plugins/terminology/index.ts'
import { type PullSummary, TerminologyPull } from '../../../plugins/terminology/service.ts'
import { chosenKind } from '../../support/database-kinds.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { LARGE, largeCodeSystem } from '../../support/large-code-system.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { terminologyDefinitions } from '../../support/terminology-definitions.ts'
import { startTerminologySource, type TerminologySource } from '../../support/terminology-source.ts'
import { until } from '../../support/until.ts'

type Json = Record<string, any>

const WAIT_MS = 30_000
const COLORS = 'http://colors.example'
const FUTURE = '2999-01-01T00:00:00Z'
const plugins: readonly AnyPlugin[] = [
  database,
  terminologyDefinitions('administrative-gender'),
  ...fhirPlugins,
  terminology,
]
const headers = { 'content-type': 'application/fhir+json' }

const colors = (...codes: readonly string[]): Json => ({
  resourceType: 'CodeSystem',
  ...{ id: 'colors', url: COLORS, status: 'active', content: 'complete' },
  concept: codes.map((code) => ({ code, display: `the ${code} one` })),
})
const valueSet = (n: number, ...codes: readonly string[]): Json => ({
  resourceType: 'ValueSet',
  ...{ id: `s${n}`, url: `http://sets.example/${n}`, status: 'active' },
  compose: { include: [{ system: COLORS, ...(codes.length > 0 && { concept: codes.map((code) => ({ code })) }) }] },
})
const open = (urls: readonly string[], more: Json = {}): Promise<TestServer> =>
  serverWith({ plugins, settings: { conformance: { update_as_create: true }, terminology: { urls }, ...more } })
const pull = (server: TestServer, isAll = false): Promise<PullSummary> => server.get(TerminologyPull).run({ isAll })
/** Codes of the expansion, or the status. */
const expanded = async (server: TestServer, url: string): Promise<string> => {
  const answer = await server.inject(`/ValueSet/$expand?url=${encodeURIComponent(url)}&count=5`)
  if (answer.statusCode !== 200) return String(answer.statusCode)
  const { contains = [] } = (answer.json() as Json).expansion
  return contains.map(({ code }: Json) => code).join(' ')
}
const set = (n: number): string => `http://sets.example/${n}`
const warnings = (server: TestServer): string =>
  server.lines
    .filter(({ level }) => level === 'warn')
    .map(({ err }) => (err as Json | undefined)?.message)
    .join('\n')
const withSource = (name: string, work: (source: TerminologySource) => Promise<void>): void =>
  test(name, async () => {
    const source = await startTerminologySource()
    source.definitions.set('CodeSystem', [colors('red', 'green')])
    source.definitions.set(
      'ValueSet',
      [1, 2, 3, 4, 5].map((n) => valueSet(n)),
    )
    try {
      await work(source)
    } finally {
      await source.close()
    }
  })

withSource('a start pulls in the background, and what it pulled expands and validates', async (source) => {
  const server = await open([source.url])
  await until(async () => (await expanded(server, set(5))) === 'red green', WAIT_MS, 'the last value set')
  const validated = await server.inject(`/ValueSet/$validate-code?url=${set(1)}&system=${COLORS}&code=red`)
  assert.equal((validated.json() as Json).parameter[0], { name: 'result', valueBoolean: true })
  assert.match((await server.inject(`/CodeSystem/$lookup?system=${COLORS}&code=green`)).body, /the green one/)
  await server.stop()
})

withSource('stored definitions win over installed ones, and these over pulled ones', async (source) => {
  const installed = 'http://hl7.org/fhir/ValueSet/administrative-gender'
  source.definitions.set('ValueSet', [{ ...valueSet(1), url: installed }, valueSet(2)])
  const server = await open([source.url])
  await pull(server)
  assert.is(await expanded(server, set(2)), 'red green')
  assert.is(await expanded(server, installed), 'male female other unknown')
  const stored = valueSet(2, 'green')
  const put = await server.inject({ method: 'PUT', url: '/ValueSet/own', headers, payload: { ...stored, id: 'own' } })
  assert.is(put.statusCode, 201)
  assert.is(await expanded(server, set(2)), 'green')
  await server.stop()
})

withSource('the next pull asks for what was changed, and keeps the others', async (source) => {
  const server = await open([source.url])
  await pull(server)
  source.requests.length = 0
  source.definitions.set('ValueSet', [{ ...valueSet(2, 'red'), meta: { lastUpdated: FUTURE } }])
  assert.equal(await pull(server), { resources: 1, failed: 0 })
  assert.ok(
    source.requests.every((one) => /_lastUpdated=gt\d{4}-/.test(one)),
    source.requests.join('\n'),
  )
  assert.is(await expanded(server, set(2)), 'red')
  assert.is(await expanded(server, set(1)), 'red green')
  await pull(server, true)
  assert.is(await expanded(server, set(2)), 'red')
  assert.is(await expanded(server, set(1)), '404', 'the source has it no more')
  await server.stop()
})

withSource('a source that ends among the pages keeps the last pull, and the next one goes on there', async (source) => {
  const server = await open([source.url])
  await pull(server)
  source.definitions.set(
    'ValueSet',
    [1, 2, 3, 4, 5].map((n) => valueSet(n, 'green')),
  )
  source.intercept = (path, response) => {
    if (!path.includes('from=4')) return false
    response.writeHead(200, { 'content-length': 5_000 })
    response.write('{"resourceType":')
    response.socket?.end()
    return true
  }
  assert.is((await pull(server, true)).failed, 1)
  assert.is(await expanded(server, set(1)), 'red green', 'the last pull')
  source.intercept = undefined
  source.requests.length = 0
  const resumed: string[] = []
  await server.get(TerminologyPull).run({ isAll: true }, { resumed: (label, seen) => resumed.push(`${label} ${seen}`) })
  assert.equal(resumed, [`ValueSet of ${source.url} 4`])
  assert.equal(
    source.requests.filter((one) => one.startsWith('ValueSet')),
    ['ValueSet?_count=50&from=4'],
  )
  for (const n of [1, 3, 5]) assert.is(await expanded(server, set(n)), 'green')
  await server.stop()
})

withSource('a page that the source has forgotten begins the pull anew', async (source) => {
  const server = await open([source.url])
  await pull(server)
  let isGone = false
  source.intercept = (path, response) => {
    if (!path.includes('from=2') || isGone) return false
    isGone = true
    response.writeHead(410).end()
    return true
  }
  assert.equal(await pull(server, true), { resources: 6, failed: 0 })
  source.intercept = (path, response) => path.includes('from=2') && response.writeHead(410).end() !== undefined
  assert.is((await pull(server, true)).failed, 1, 'and does so a few times only')
  assert.is(await expanded(server, set(5)), 'red green')
  await server.stop()
})

withSource('a server that starts again goes on where the one before ended', async (source) => {
  if (chosenKind.name === 'memory') return
  const fresh = await chosenKind.fresh(plugins)
  source.intercept = (path, response) => path.includes('from=2') && response.writeHead(503).end() !== undefined
  const before = await open([source.url], fresh.settings)
  await until(async () => warnings(before).includes('it answered 503'), WAIT_MS, 'the warning')
  await before.stop()
  source.intercept = undefined
  source.requests.length = 0
  const server = await open([source.url], fresh.settings)
  await until(async () => (await expanded(server, set(5))) === 'red green', WAIT_MS, 'the last value set')
  assert.ok(source.requests.includes('ValueSet?_count=50&from=2'))
  assert.not.ok(source.requests.includes('ValueSet?_count=50'), source.requests.join('\n'))
  await server.stop()
  await fresh.remove()
})

withSource('a source that is away does not stop the start, nor other sources', async (source) => {
  const away = await startTerminologySource()
  await away.close()
  const server = await open([away.url, source.url])
  await until(async () => (await expanded(server, set(5))) === 'red green', WAIT_MS, 'the last value set')
  assert.match(warnings(server), /does not answer: ECONNREFUSED/)
  await server.stop()
})

withSource('a page or a redirect at another origin is refused, and not asked', async (source) => {
  const other = await startTerminologySource()
  source.link = (url) => url.replace(source.url, other.url)
  const server = await open([source.url])
  const failures: string[] = []
  const failed = (error: Error): void => void failures.push(error.message)
  await server.get(TerminologyPull).run({ isAll: false }, { failed })
  assert.is(await expanded(server, set(1)), '404')
  source.link = undefined
  source.intercept = (path, response) =>
    path.startsWith('ValueSet') &&
    response.writeHead(307, { location: `${other.url}/x?key=hidden` }).end() !== undefined
  await server.get(TerminologyPull).run({ isAll: true }, { failed })
  assert.equal(other.requests, [])
  assert.match(failures.join('\n'), /its link to the next page leads to another origin, http:/)
  assert.match(failures.at(-1) as string, /it redirected to another origin, http:\/\/127\.0\.0\.1:\d+\./)
  assert.not.match(JSON.stringify(server.lines), /hidden/)
  await other.close()
  await server.stop()
})

withSource('a large code system is in the index as long as the source has it', async (source) => {
  const sizes = sql('test.pulled', "SELECT state, size FROM tx_system WHERE source = 'pull' ORDER BY id")
  source.definitions.set('CodeSystem', [largeCodeSystem(2_100), colors('red')])
  const server = await open([source.url])
  const rows = async (): Promise<string> =>
    (await server.get(Database).all<Json>(sizes, [])).map(({ state, size }) => `${state} ${size}`).join('; ')
  await pull(server)
  assert.is(await rows(), 'ready 2100')
  assert.is((await server.inject(`/CodeSystem/$lookup?system=${LARGE}&code=C2099`)).statusCode, 200)
  await pull(server, true)
  assert.is(await rows(), 'ready 2100', 'the same state is not loaded again')
  source.definitions.set('CodeSystem', [colors('red')])
  await pull(server, true)
  assert.is(await rows(), 'ended 2100')
  assert.is((await server.inject(`/CodeSystem/$lookup?system=${LARGE}&code=C2099`)).statusCode, 404)
  await server.stop()
})

test('urls with a user name or another scheme are refused', async () => {
  for (const url of ['http://user:word@tx.example/fhir', 'file:///etc', 'http://tx.example/fhir?key=1'])
    try {
      await open([url])
      assert.unreachable(url)
    } catch (error) {
      assert.match((error as Error).message, /terminology\.urls|\[terminology\] urls/)
    }
})

withSource('$translate uses a pulled concept map that the request names by its URL', async (source) => {
  source.definitions.set('ConceptMap', [
    {
      resourceType: 'ConceptMap',
      ...{ id: 'm', url: 'http://maps.example/m', version: '1', status: 'active' },
      group: [
        {
          ...{ source: COLORS, target: 'http://paints.example' },
          element: [{ code: 'red', target: [{ code: 'ochre', equivalence: 'wider' }] }],
        },
      ],
    },
  ])
  const server = await open([source.url])
  try {
    await pull(server)
    const translate = (map: string) =>
      server.inject(`/ConceptMap/$translate?url=${encodeURIComponent(map)}&system=${COLORS}&code=red`)
    const answer = await translate('http://maps.example/m')
    assert.is(answer.statusCode, 200)
    assert.match(answer.payload, /"ochre"/)
    assert.match((await translate('http://maps.example/m|1')).payload, /"ochre"/)
    assert.is((await translate('http://maps.example/m|2')).statusCode, 404)
  } finally {
    await server.stop()
  }
})

test.run()
