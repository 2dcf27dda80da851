/**
 * Broken requests against a server on this machine: none may end it, hang it or be its own error. By name:
 * `node test/fuzz/mutate.ts --requests 100000 --seed 1 --references fhir`; `--only 4711` repeats one request of a run.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import database from '../../plugins/database/index.ts'
import probes from '../../plugins/probes/index.ts'
import references from '../../plugins/references/index.ts'
import validation from '../../plugins/validation/index.ts'
import { temporaryFolder } from '../support/database-kinds.ts'
import { fhirPlugins } from '../support/fhir-plugins.ts'
import { serverWith, type TestServer } from '../support/server-with.ts'
import { examplesFolder, stubDefinitions } from '../support/stub-definitions.ts'
import { createLane, type LaneAnswer } from './lane.ts'
import { createSeededRandom } from './random.ts'
import { type Corpus, type Example, type FuzzRequest, makeRequest } from './requests.ts'

const LANES = 4
const PATIENCE_MS = 20_000 // more than any answer takes on a busy machine
const EXAMPLES_OF_TYPE = 5
const MAX_EXAMPLE_CHARS = 20_000
const INSIDE = /\bat \S+ \(|node_modules|node:internal|\.ts:\d|SQLITE_|SyntaxError|TypeError|RangeError/

export interface Finding {
  readonly n: number
  readonly what: string
  readonly request: string
  readonly answer: string
}

export interface FuzzResult {
  readonly requests: number
  /** Answers by status. */
  readonly statuses: Readonly<Record<string, number>>
  readonly findings: readonly Finding[]
  /** Resident megabytes after a tenth of the run and at its end. */
  readonly megabytes: readonly [number, number]
}

export interface FuzzOptions {
  readonly seed: number
  /** Ends after so many requests or so many milliseconds, whichever comes first. */
  readonly requests: number
  readonly ms?: number
  /** Only this request of the run. */
  readonly only?: number
  /** With `fhir` more of what is sent is stored. */
  readonly references?: 'strict' | 'fhir'
}

/** Some examples of every type, and the codes of all search parameters. */
const readCorpus = (): Corpus => {
  const names = readdirSync(examplesFolder).filter((name) => /^[A-Z][A-Za-z]+-.*\.json$/.test(name))
  const read = (name: string): string => readFileSync(join(examplesFolder, name), 'utf8')
  const taken = new Map<string, number>()
  const examples: Example[] = []
  for (const name of names) {
    const type = name.slice(0, name.indexOf('-'))
    const count = taken.get(type) ?? 0
    if (count >= EXAMPLES_OF_TYPE) continue
    const text = read(name)
    if (text.length > MAX_EXAMPLE_CHARS) continue
    taken.set(type, count + 1)
    examples.push({ type, id: (JSON.parse(text) as { id: string }).id, text })
  }
  const parameters = names
    .filter((name) => name.startsWith('SearchParameter-'))
    .map((name) => (JSON.parse(read(name)) as { code: string }).code)
  return { examples, parameters: [...new Set(parameters)] }
}

/** What is wrong with an answer, or undefined. */
const judge = (answer: LaneAnswer | 'closed' | 'silent', { method, framed }: FuzzRequest): string | undefined => {
  // Broken framing may leave nothing to answer: a connection that ends before a request is one.
  if (answer === 'closed') return framed ? 'no answer' : undefined
  if (answer === 'silent') return 'neither answered nor closed'
  const { status, type, body } = answer
  if (!(status >= 200 && status < 500)) return `status ${status}`
  if (method === 'HEAD' || status === 204 || status === 304 || body === '') return undefined
  if (status >= 400 && INSIDE.test(body)) return 'shows the inside'
  if (!type.startsWith('application/')) return undefined
  try {
    const { resourceType, issue } = JSON.parse(body) as { resourceType: string; issue?: { diagnostics: string }[] }
    if (status >= 400 && (resourceType !== 'OperationOutcome' || (issue?.[0]?.diagnostics ?? '') === ''))
      return 'a refusal without an OperationOutcome'
  } catch {
    return type.includes('json') ? 'a body that is no JSON' : undefined
  }
  return undefined
}

const megabytes = (): number => Math.round(process.memoryUsage.rss() / 1024 / 1024)
const shown = (text: string): string => (text.length > 3_000 ? `${text.slice(0, 3_000)}… (${text.length})` : text)

const start = async (path: string, policy: 'strict' | 'fhir'): Promise<{ server: TestServer; port: number }> => {
  const server = await serverWith({
    plugins: [database, stubDefinitions('all'), validation, ...fhirPlugins, references, probes],
    settings: {
      server: { bind: '127.0.0.1:0' },
      database: { kind: 'sqlite', sqlite_path: path },
      conformance: { update_as_create: true, reference_policy: policy },
      fhir: { max_body_bytes: 1024 * 1024 },
    },
    // A framing that promises more bytes than there are is waited for.
    limits: { headersMs: 1_000, requestMs: 2_000, checkMs: 200 },
  })
  return { server, port: Number(new URL(await server.listen()).port) }
}

export const fuzz = async ({
  seed,
  requests,
  ms = Number.POSITIVE_INFINITY,
  only,
  references: policy = 'strict',
}: FuzzOptions): Promise<FuzzResult> => {
  const corpus = readCorpus()
  const folder = temporaryFolder()
  const { server, port } = await start(join(folder.path, 'fuzz.sqlite'), policy)
  const statuses: Record<string, number> = {}
  const findings: Finding[] = []
  const until = performance.now() + ms
  let early = 0
  let next = only ?? 0
  const end = only === undefined ? requests : only + 1
  const work = async (): Promise<void> => {
    const lane = createLane(port, PATIENCE_MS)
    while (next < end && performance.now() < until && findings.length < 20) {
      const n = next
      next += 1
      // A seed of its own for each request, so that any one of them can be made again.
      const request = makeRequest(createSeededRandom(Math.imul(seed, 0x9e3779b1) + n), corpus)
      const logged = server.lines.length
      const answer = await lane.ask(request.bytes, request.method, request.framed)
      const status = typeof answer === 'string' ? answer : String(answer.status)
      statuses[status] = (statuses[status] ?? 0) + 1
      const error = server.lines.slice(logged).find(({ level }) => level === 'error' || level === 'fatal')
      const what = judge(answer, request) ?? (error === undefined ? undefined : `logged ${JSON.stringify(error)}`)
      if (what !== undefined)
        findings.push({
          n,
          what,
          request: shown(request.bytes.toString('latin1')),
          answer: shown(JSON.stringify(answer)),
        })
      if (n === Math.floor(requests / 10)) early = megabytes()
    }
    lane.close()
  }
  await Promise.all(Array.from({ length: only === undefined ? LANES : 1 }, work))
  const alive = await server.inject('/metadata')
  if (alive.statusCode !== 200)
    findings.push({ n: -1, what: 'no good answer at the end', request: '', answer: alive.body })
  const result = { requests: next - (only ?? 0), statuses, findings, megabytes: [early, megabytes()] as const }
  await server.stop()
  folder.remove()
  return result
}

const main = async (): Promise<void> => {
  const { values } = parseArgs({
    options: {
      requests: { type: 'string', default: '100000' },
      seed: { type: 'string', default: '1' },
      seconds: { type: 'string' },
      only: { type: 'string' },
      references: { type: 'string', default: 'strict' },
    },
  })
  const started = performance.now()
  const result = await fuzz({
    seed: Number(values.seed),
    requests: Number(values.requests),
    references: values.references === 'fhir' ? 'fhir' : 'strict',
    ...(values.seconds === undefined ? {} : { ms: Number(values.seconds) * 1000 }),
    ...(values.only === undefined ? {} : { only: Number(values.only) }),
  })
  for (const { n, what, request, answer } of result.findings)
    console.log(`\n#${n}: ${what}\n--- request\n${request}\n--- answer\n${answer}`)
  const seconds = (performance.now() - started) / 1000
  console.log(`\n${result.requests} requests in ${seconds.toFixed(0)} s, answers by status:`, result.statuses)
  console.log(`resident megabytes: ${result.megabytes[0]} after a tenth, ${result.megabytes[1]} at the end`)
  console.log(`${result.findings.length} findings`)
  process.exitCode = result.findings.length === 0 ? 0 : 1
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main()
