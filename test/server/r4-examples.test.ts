/** Every resource of hl7.fhir.r4.examples is stored and served as it is, over real HTTP and a file. */
// database: sqlite and postgres, because in memory the same statements run as on a file
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import database from '../../plugins/database/index.ts'
import references from '../../plugins/references/index.ts'
import { askAgain } from '../support/ask-again.ts'
import { chosenKind } from '../support/database-kinds.ts'
import { fhirPlugins } from '../support/fhir-plugins.ts'
import { createHttpClient, type HttpClient } from '../support/http-client.ts'
import { serverWith, type TestServer } from '../support/server-with.ts'
import { examplesFolder, stubDefinitions } from '../support/stub-definitions.ts'

const EXPECTED = 5305 // 5306 files, of which ig-r4.json holds ImplementationGuide/fhir a second time
const LANES = 8
let server: TestServer
let client: HttpClient
test.before(async () => {
  server = await serverWith({
    plugins: [database, stubDefinitions('all'), ...fhirPlugins, references],
    settings: {
      server: { bind: '127.0.0.1:0' },
      // Many refer to what the package does not hold.
      conformance: { update_as_create: true, reference_policy: 'fhir' },
    },
  })
  client = createHttpClient(await server.listen())
})
test.after(async () => {
  client.close()
  await server.stop()
})

interface Sent {
  readonly resourceType: string
  readonly id: string
  readonly meta?: object
}

// R4 allows 64 characters; this official id has more. https://hl7.org/fhir/R4/datatypes.html#id
const TOO_LONG_ID = 'SearchParameter-questionnaireresponse-extensions-QuestionnaireResponse-item-subject.json'

/** These refer to a type that their element does not allow. */
const WRONG_TYPE = new Set([
  'DeviceMetric-example.json',
  'DeviceUseStatement-example.json',
  'MedicationRequest-medrx0301.json',
  'Observation-clinical-gender.json',
])
const statusOf = (name: string): number => (name === TOO_LONG_ID ? 404 : WRONG_TYPE.has(name) ? 422 : 201)

/** True when `read` is the very text sent, with the server's version and time in meta. */
const isSame = (read: string, text: string, { meta }: Sent): boolean => {
  const own = /"versionId":"1","lastUpdated":"[^"]+"/.exec(read)?.[0]
  if (own === undefined) return false
  if (meta === undefined) return read.replace(`,"meta":{${own}}`, '') === text
  // The client's meta stays as it was written, but for its own version and time and the blanks between members.
  const rest = (one: string): string =>
    one.replace(/"(lastUpdated|versionId)"\s*:\s*"[^"]*"/g, '').replace(/[\s,]+/g, '')
  return rest(read) === rest(text)
}

const PLAIN = { 'accept-encoding': 'identity' } // the read goes out packed, the others as text
const AS_FHIR = { accept: 'application/fhir+json' } // a Binary is shown as its content otherwise

const names = readdirSync(examplesFolder).filter(
  (name) => name.endsWith('.json') && !['package.json', 'ig-r4.json'].includes(name) && !name.startsWith('.'),
)
const inLanes = async (work: (name: string) => Promise<void>): Promise<void> => {
  const queue = [...names]
  const lane = async (): Promise<void> => {
    for (let name = queue.shift(); name !== undefined; name = queue.shift()) await work(name)
  }
  await Promise.all(Array.from({ length: LANES }, lane))
}

const send = (method: 'GET' | 'PUT', url: string, options: { headers: Record<string, string>; body?: string }) =>
  askAgain(
    () => client.send(method, url, options),
    ({ status }) => status,
  )
const get = (url: string, headers: Record<string, string>) => send('GET', url, { headers })

/**
 * Takes away what all pages of the history give back byte for byte. On PostgreSQL they stand for a vread and a history of
 * each resource, which run the statements that they run on SQLite.
 */
const takeFromHistory = async (reads: Map<string, string>): Promise<void> => {
  for (let next: string | undefined = '/_history?_count=1000'; next !== undefined; ) {
    const { text } = await get(next, PLAIN)
    for (const found of text.matchAll(/"fullUrl":"[^"]*?([A-Za-z]+\/[A-Za-z0-9.-]+)","resource":/g)) {
      const url = `/${found[1]}`
      const read = reads.get(url)
      if (read !== undefined && text.startsWith(`${read},"request":`, found.index + found[0].length)) reads.delete(url)
    }
    const link = /"relation":"next","url":"([^"]*)"/.exec(text.slice(0, 2_000))?.[1]
    next = link?.slice(link.indexOf('/_history'))
  }
}

test(`all ${EXPECTED} resources but five are put, and read, vread and history give them back byte for byte`, async () => {
  assert.is(names.length, EXPECTED)
  const wrong: string[] = []
  /** Path of a resource → what a read gave. */
  const reads = new Map<string, string>()
  await inLanes(async (name) => {
    const text = readFileSync(join(examplesFolder, name), 'utf8')
    const sent = JSON.parse(text) as Sent
    const url = `/${sent.resourceType}/${sent.id}`
    const headers = { 'content-type': 'application/fhir+json', prefer: 'return=minimal' }
    const { status } = await send('PUT', url, { headers, body: text })
    if (status !== statusOf(name)) wrong.push(`${name}: PUT ${status}`)
    if (status >= 400) return
    const { text: read } = await get(url, AS_FHIR)
    if (!isSame(read, text, sent)) wrong.push(`${name}: read differs`)
    if (chosenKind.name === 'postgres') return void reads.set(url, read)
    if ((await get(`${url}/_history/1`, { ...AS_FHIR, ...PLAIN })).text !== read) wrong.push(`${name}: vread differs`)
    const { text: history } = await get(`${url}/_history`, PLAIN)
    if (!history.includes('"total":1,') || !history.includes(`"resource":${read},"request":`))
      wrong.push(`${name}: history differs`)
  })
  if (chosenKind.name === 'postgres') await takeFromHistory(reads)
  assert.equal([...reads.keys()], [], 'what the history of all does not give back')
  assert.equal(wrong, [])
})

test.run()
