/** Figure T: what questions about a code system of 100,000 concepts take, and what storing it costs others. */
import { Agent, request } from 'node:http'
import BetterSqlite from 'better-sqlite3'
import pg from 'pg'
import { LARGE, largeCodeSystem } from '../../support/large-code-system.ts'
import { startPostgres } from '../../support/postgres.ts'
import type { Bench, Figure } from '../bench.ts'
import { createPlace, type House, startHouse } from '../house.ts'
import type { Settings } from '../plugins.ts'

const CONCEPTS = 100_000
const MAX_EXPAND_MS = 50
const MAX_VALIDATE_MS = 2
const MAX_TURN_MS = 100
const MAX_GROWTH = 200 // megabytes while all pages are read
const ASKED = 200 // of each question
const PAGE = 1000
const LOOK_MS = 250
const SETS = 'http://sets.example/'
const READY = "SELECT count(*) AS n FROM tx_system WHERE state = 'ready'"

const VALUE_SETS: Readonly<Record<string, object>> = {
  all: { include: [{ system: LARGE }] },
  below: { include: [{ system: LARGE, filter: [{ property: 'concept', op: 'is-a', value: 'C4' }] }] },
  less: {
    include: [{ system: LARGE, filter: [{ property: 'group', op: 'in', value: 'g1,g2,g3' }] }],
    exclude: [{ system: LARGE, filter: [{ property: 'concept', op: 'is-a', value: 'C41' }] }],
  },
}

const agent = new Agent({ keepAlive: true, maxSockets: 1 })
const ask = (
  address: string,
  path: string,
  body?: string,
): Promise<{ readonly status: number; readonly text: string }> =>
  new Promise((resolve, reject) => {
    const method = body === undefined ? 'GET' : 'POST'
    const sent = request(
      `${address}${path}`,
      { agent, method, headers: body === undefined ? {} : { 'content-type': 'application/fhir+json' } },
      (answer) => {
        let text = ''
        answer.setEncoding('utf8')
        answer.on('data', (part: string) => {
          text += part
        })
        answer.once('end', () => resolve({ status: answer.statusCode ?? 0, text }))
      },
    )
    sent.once('error', reject)
    sent.end(body)
  })

const expectOk = async (address: string, path: string, body?: string): Promise<string> => {
  const { status, text } = await ask(address, path, body)
  if (status >= 300) throw new Error(`${path} gave ${status}: ${text.slice(0, 500)}`)
  return text
}

interface Taken {
  readonly median: number
  readonly p95: number
  readonly most: number
}

const times = async (address: string, pathOf: (n: number) => string): Promise<Taken> => {
  const taken: number[] = []
  for (let n = 0; n < ASKED; n += 1) {
    const begun = performance.now()
    await expectOk(address, pathOf(n))
    taken.push(performance.now() - begun)
  }
  taken.sort((a, b) => a - b)
  const at = (share: number): number => taken[Math.floor((taken.length - 1) * share)] as number
  return { median: at(0.5), p95: at(0.95), most: at(1) }
}

const FILTERS = ['fever', 'heart', 'acute lo', 'left upper', 'closed', 'chr']
const expand = (set: string, more: string): string => `/ValueSet/$expand?url=${SETS}${set}&count=50${more}`

interface Kind {
  readonly name: string
  readonly settings: Settings
  /** Whether the code system is in the index. */
  isReady(): Promise<boolean>
}

const QUESTIONS: readonly (readonly [name: string, most: number | undefined, pathOf: (n: number) => string])[] = [
  // The number makes each filter another one, so that no set of matches is known before.
  ['$expand, another filter each time', MAX_EXPAND_MS, (n) => expand('all', `&filter=${FILTERS[n % 6]} ${n % 10}`)],
  ['$expand of an is-a, another filter', MAX_EXPAND_MS, (n) => expand('below', `&filter=${FILTERS[n % 6]}${n}`)],
  ['$expand, exclusion, pages', MAX_EXPAND_MS, (n) => expand('less', `&offset=${n * 20}`)],
  [
    '$validate-code in a value set',
    MAX_VALIDATE_MS,
    (n) => `/ValueSet/$validate-code?url=${SETS}below&system=${LARGE}&code=C${n * 400}`,
  ],
  [
    '$validate-code in the code system',
    MAX_VALIDATE_MS,
    (n) => `/CodeSystem/$validate-code?url=${LARGE}&code=C${n * 400}`,
  ],
  ['$lookup', undefined, (n) => `/CodeSystem/$lookup?system=${LARGE}&code=C${n * 400}`],
  ['$subsumes', undefined, (n) => `/CodeSystem/$subsumes?system=${LARGE}&codeA=C4&codeB=C${n * 400}`],
]

const run = async (bench: Bench, { name, settings, isReady }: Kind): Promise<void> => {
  const place = createPlace()
  const house: House = await startHouse(bench, place, { settings, unbound: true })
  const { address } = house
  try {
    for (const [id, compose] of Object.entries(VALUE_SETS))
      await expectOk(
        address,
        '/ValueSet',
        JSON.stringify({ resourceType: 'ValueSet', url: SETS + id, status: 'active', compose }),
      )
    const text = JSON.stringify(largeCodeSystem(CONCEPTS))
    bench.say(`${name}: a CodeSystem of ${Math.round(text.length / 1e6)} MB`)
    await house.turns?.()
    const begun = performance.now()
    await expectOk(address, '/CodeSystem', text)
    const stored = performance.now()
    while (!(await isReady())) await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
    const indexed = performance.now()
    const turns = await house.turns?.()
    const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`
    bench.report({
      figure: `T ${name}: longest turn while it is stored and indexed`,
      required: `<= ${MAX_TURN_MS} ms`,
      measured: `${turns?.most.toFixed(0)} ms`,
      spread: '',
      ok: (turns?.most ?? 0) <= MAX_TURN_MS,
      beside: `stored in ${seconds(stored - begun)}, in the index ${seconds(indexed - stored)} later`,
    })
    bench.say(
      `${name}: stored in ${seconds(stored - begun)}, indexed ${seconds(indexed - stored)} later, turn ${turns?.most} ms`,
    )
    for (const [question, most, pathOf] of QUESTIONS) {
      await expectOk(address, encodeURI(pathOf(ASKED + 1)))
      const { median, p95, most: worst } = await times(address, (n) => encodeURI(pathOf(n)))
      bench.say(`${name}: ${question}: median ${median.toFixed(1)} ms, p95 ${p95.toFixed(1)} ms`)
      bench.report({
        figure: `T ${name}: ${question}`,
        required: most === undefined ? '' : `p95 <= ${most} ms`,
        measured: `${p95.toFixed(1)} ms`,
        spread: `median ${median.toFixed(1)}, most ${worst.toFixed(1)}`,
        ok: most === undefined ? undefined : p95 <= most,
        beside: `${ASKED} one after the other`,
      })
    }
    const before = (await house.cpu()).rss
    let largest = before
    let count = 0
    for (let offset = 0; offset < CONCEPTS; offset += PAGE) {
      const page = await expectOk(address, `/ValueSet/$expand?url=${SETS}all&count=${PAGE}&offset=${offset}`)
      count += (JSON.parse(page) as { expansion: { contains: unknown[] } }).expansion.contains.length
      largest = Math.max(largest, (await house.cpu()).rss)
    }
    const growth = (largest - before) / 1e6
    bench.report({
      figure: `T ${name}: memory while all pages are read`,
      required: `<= ${MAX_GROWTH} MB more`,
      measured: `${growth.toFixed(0)} MB`,
      spread: '',
      ok: growth <= MAX_GROWTH && count === CONCEPTS,
      beside: `${count} codes in pages of ${PAGE}; ${(before / 1e6).toFixed(0)} MB before`,
    })
  } finally {
    await house.stop()
    place.remove()
  }
}

export const terminology: Figure = {
  name: 'terminology',
  description: 'questions about a code system of 100,000 concepts, on SQLite and PostgreSQL',
  async run(bench) {
    const place = createPlace()
    await run(bench, {
      name: 'SQLite',
      settings: { database: { sqlite_path: place.sqlitePath } },
      async isReady() {
        const handle = new BetterSqlite(place.sqlitePath, { readonly: true })
        try {
          return (handle.prepare(READY).get() as { n: number }).n > 0
        } finally {
          handle.close()
        }
      },
    })
    place.remove()
    const postgres = await startPostgres()
    try {
      await postgres.createDatabase('terminology')
      const url = postgres.url(undefined, 'terminology')
      const client = new pg.Client(url)
      await client.connect()
      await run(bench, {
        name: 'PostgreSQL',
        settings: { database: { kind: 'postgres', postgres_url: url } },
        isReady: async () => Number((await client.query(READY)).rows[0].n) > 0,
      })
      await client.end()
    } finally {
      await postgres.stop()
    }
  },
}
