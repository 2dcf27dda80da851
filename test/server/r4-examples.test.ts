/**
 * Resources of hl7.fhir.r4.examples are stored and served as they are, over real HTTP and a file: those that have an element
 * in a new shape, and with ALL_EXAMPLES=1 every one.
 */
// database: sqlite and postgres, because in memory the same statements run as on a file
import { readdirSync } from 'node:fs'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import database from '../../plugins/database/index.ts'
import references from '../../plugins/references/index.ts'
import { askAgain } from '../support/ask-again.ts'
import { isChosen, readChosen } from '../support/chosen-examples.ts'
import { chosenKind } from '../support/database-kinds.ts'
import { fhirPlugins } from '../support/fhir-plugins.ts'
import { createHttpClient, type HttpClient } from '../support/http-client.ts'
import { serverWith, type TestServer } from '../support/server-with.ts'
import { examplesFolder, stubDefinitions } from '../support/stub-definitions.ts'

const ALL = 5305 // 5306 files, of which ig-r4.json holds ImplementationGuide/fhir a second time
const LEAST = process.env.ALL_EXAMPLES === undefined ? 700 : ALL
const LANES = 16
const BATCH_BYTES = 100_000
let server: TestServer
let client: HttpClient
test.before(async () => {
  server = await serverWith({
    plugins: [database, stubDefinitions('all'), ...fhirPlugins, references],
    settings: {
      server: { bind: '127.0.0.1:0' },
      // Many refer to what the package does not hold.
      conformance: { update_as_create: true, reference_policy: 'fhir' },
      fhir: { full_text: 'none' },
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
  (name) =>
    name.endsWith('.json') && !['package.json', 'ig-r4.json'].includes(name) && !name.startsWith('.') && isChosen(name),
)
const inLanes = async <T>(all: readonly T[], work: (one: T) => Promise<void>): Promise<void> => {
  const queue = [...all]
  const lane = async (): Promise<void> => {
    for (let one = queue.shift(); one !== undefined; one = queue.shift()) await work(one)
  }
  await Promise.all(Array.from({ length: LANES }, lane))
}

const send = (
  method: 'GET' | 'PUT' | 'POST',
  url: string,
  options: { headers: Record<string, string>; body?: string },
) =>
  askAgain(
    () => client.send(method, url, options),
    ({ status }) => status,
  )
const get = (url: string, headers: Record<string, string>) => send('GET', url, { headers })

const BEHIND = ',"request":' // what stands behind a resource in a history

/** True when the resource that begins there is the text that was sent: it ends in front of one of the next requests. */
const isAt = (text: string, begin: number, { text: sent, ...example }: Example): boolean => {
  for (let end = text.indexOf(BEHIND, begin + sent.length / 2); end !== -1; end = text.indexOf(BEHIND, end + 1)) {
    if (isSame(text.slice(begin, end), sent, example)) return true
    if (end > begin + sent.length * 2) return false
  }
  return false
}

interface Example extends Sent {
  readonly name: string
  readonly text: string
  readonly url: string
}
/** Not kept: other files follow in this process. */
const readExamples = (): readonly Example[] =>
  names.map((name) => {
    const text = readChosen(name)
    const { resourceType, id, meta } = JSON.parse(text) as Sent
    return { name, text, resourceType, id, url: `/${resourceType}/${id}`, ...(meta === undefined ? {} : { meta }) }
  })
const isTogether = chosenKind.name === 'postgres'

const putAlone = async ({ url, text, name }: Example): Promise<readonly string[]> => {
  const headers = { 'content-type': 'application/fhir+json', prefer: 'return=minimal' }
  const { status } = await send('PUT', url, { headers, body: text })
  return status === statusOf(name) ? [] : [`${name}: PUT ${status}`]
}
const putTogether = async (some: readonly Example[]): Promise<readonly string[]> => {
  const wrong: string[] = []
  let left = some
  const putLeft = async (): Promise<void> => {
    const entries = left.map(
      ({ text, url }) => `{"resource":${text},"request":{"method":"PUT","url":"${url.slice(1)}"}}`,
    )
    const body = `{"resourceType":"Bundle","type":"batch","entry":[${entries.join(',')}]}`
    const { text } = await send('POST', '/', { headers: { 'content-type': 'application/fhir+json' }, body })
    const { entry = [] } = JSON.parse(text) as { entry?: { response: { status: string } }[] }
    const answered = left.map((one, at) => ({ one, status: entry[at]?.response.status ?? text.slice(0, 300) }))
    for (const { one, status } of answered)
      if (!status.startsWith('503') && !status.startsWith(String(statusOf(one.name))))
        wrong.push(`${one.name}: PUT in a batch ${status}`)
    left = answered.filter(({ status }) => status.startsWith('503')).map(({ one }) => one)
  }
  await askAgain(putLeft, () => (left.length > 0 ? 503 : 200))
  return [...wrong, ...left.map(({ name }) => `${name}: PUT in a batch 503`)]
}
/** No batch takes Bundles, and large resources have a way of their own. */
const isAlone = ({ resourceType, text }: Example): boolean => resourceType === 'Bundle' || text.length > BATCH_BYTES
const inBatches = (put: readonly Example[]): readonly Example[][] => {
  const batches: Example[][] = []
  let bytes = Number.POSITIVE_INFINITY
  for (const one of put.filter((example) => !isAlone(example))) {
    bytes += one.text.length
    if (bytes > BATCH_BYTES) {
      batches.push([])
      bytes = one.text.length
    }
    batches.at(-1)?.push(one)
  }
  return batches
}

/** Names of those that no page of the history of all gives back as they were sent, and as the server read them before. */
const missingInHistory = async (
  stored: readonly Example[],
  reads: ReadonlyMap<string, string>,
): Promise<readonly string[]> => {
  const missing = new Map(stored.map((one) => [one.url, one]))
  for (let next: string | undefined = '/_history?_count=200'; next !== undefined; ) {
    const { status, text } = await get(next, PLAIN)
    assert.is(status, 200, text.slice(0, 300))
    for (const found of text.matchAll(/"fullUrl":"[^"]*?([A-Za-z]+\/[A-Za-z0-9.-]+)","resource":/g)) {
      const url = `/${found[1]}`
      const example = missing.get(url)
      if (example === undefined) continue
      const begin = found.index + found[0].length
      const read = reads.get(url)
      const isGiven = read === undefined ? isAt(text, begin, example) : text.startsWith(`${read}${BEHIND}`, begin)
      if (isGiven) missing.delete(url)
    }
    const link = /"relation":"next","url":"([^"]*)"/.exec(text.slice(0, 2_000))?.[1]
    next = link?.slice(link.indexOf('/_history'))
  }
  return [...missing.values()].map(({ name }) => `${name}: the history of all differs`)
}

/**
 * On SQLite each is put and read alone, on PostgreSQL they are put by batches, which write the same rows: there the
 * pages of the history stand for reads. A read, a vread and a history of its own has one of each type.
 */
test('all resources but five are put, and read, vread and history give them back byte for byte', async () => {
  assert.ok(names.length >= LEAST, `${names.length} resources`)
  const wrong: string[] = []
  /** Path of a resource → what a read gave. */
  const reads = new Map<string, string>()
  const readAlone = async (example: Example): Promise<void> => {
    const { text } = await get(example.url, AS_FHIR)
    if (!isSame(text, example.text, example)) wrong.push(`${example.name}: read differs`)
    reads.set(example.url, text)
  }
  const put = readExamples()
  const stored = put.filter(({ name }) => statusOf(name) === 201)
  if (isTogether) await inLanes(inBatches(put), async (some) => void wrong.push(...(await putTogether(some))))
  const alone = isTogether ? put.filter(isAlone) : put
  await inLanes(alone, async (example) => void wrong.push(...(await putAlone(example))))
  if (!isTogether) await inLanes(stored, readAlone)
  const oneOfEach = [...Map.groupBy(stored, ({ resourceType }) => resourceType).values()].map(
    (all) => all[0] as Example,
  )
  assert.ok(oneOfEach.length > 130, `${oneOfEach.length} types`)
  await inLanes(oneOfEach, async (example) => {
    const { name, url } = example
    await readAlone(example)
    const read = reads.get(url)
    if ((await get(`${url}/_history/1`, { ...AS_FHIR, ...PLAIN })).text !== read) wrong.push(`${name}: vread differs`)
    const { text: history } = await get(`${url}/_history`, PLAIN)
    if (!history.includes('"total":1,') || !history.includes(`"resource":${read}${BEHIND}`))
      wrong.push(`${name}: history differs`)
  })
  assert.equal([...wrong, ...(await missingInHistory(stored, reads))], [])
})

test.run()
