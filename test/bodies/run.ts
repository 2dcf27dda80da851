/**
 * What small requests and searches wait for beside one large body, by kind of body: `npm run check:bodies -- [megabytes] [at once]
 * [part of a name]`. The server is as it is shipped, in a process of its own; TEST_DATABASE=postgres, else a SQLite file.
 */
import { Agent, request } from 'node:http'
import { createPlace, startHouse } from '../bench/house.ts'
import { printProfiles } from '../bench/profile.ts'
import { startPostgres } from '../support/postgres.ts'
import { type LargeBody, largeBodies } from './large-bodies.ts'
import { startStopwatch, type Times } from './stopwatch.ts'

const MAX_MS = 100 // p99 of a small request beside a large one
const [megabytes = '20', atOnce = '1', part = ''] = process.argv.slice(2)
const bytes = Number(megabytes) * 1024 * 1024

// The search is one that asks the index each time.
const WATCHED = ['/livez', '/Patient/probe', '/Patient?family=Probe&_sort=birthdate']
/** Small creates beside it all, so that searches need rows that were stored just before. */
const SMALL: LargeBody = {
  name: 'small',
  method: 'POST',
  path: '/Patient',
  body: Buffer.from('{"resourceType":"Patient","name":[{"family":"Small"}]}'),
  status: [201],
  headers: { 'content-type': 'application/fhir+json' },
}
const SMALL_EVERY_MS = 100

const agent = new Agent({ keepAlive: false })
const send = (address: string, { method, path, body, headers }: LargeBody): Promise<{ status: number; text: string }> =>
  new Promise((resolve, reject) => {
    const sent = request(
      `${address}${path}`,
      { method, agent, headers: { ...headers, 'content-length': body.length, prefer: 'return=minimal' } },
      (answer) => {
        const chunks: Buffer[] = []
        answer
          .on('data', (chunk: Buffer) => void chunks.push(chunk))
          .on('end', () => resolve({ status: answer.statusCode ?? 0, text: Buffer.concat(chunks).toString() }))
          .on('error', reject)
      },
    ).on('error', reject)
    sent.end(body)
  })

const put = (address: string, path: string, text: string): Promise<{ status: number; text: string }> =>
  send(address, {
    name: '',
    method: 'PUT',
    path,
    body: Buffer.from(text),
    status: [],
    headers: { 'content-type': 'application/fhir+json' },
  })
const shown = ({ p50, p99, most }: Times): string =>
  [p50, p99, most].map((one) => `${Math.round(one)}`.padStart(5)).join(' ')

const isPostgres = process.env.TEST_DATABASE === 'postgres'
const postgres = isPostgres ? await startPostgres({ settings: { fsync: 'on' } }) : undefined
await postgres?.createDatabase('bodies')
const place = createPlace()
let isWrong = false
try {
  const settings = {
    ...(postgres === undefined
      ? {}
      : { database: { kind: 'postgres', postgres_url: postgres.url(undefined, 'bodies') } }),
    conformance: { update_as_create: true },
  }
  const house = await startHouse({ cores: { server: undefined, description: '' } }, place, { settings })
  try {
    await put(house.address, '/Patient/probe', '{"resourceType":"Patient","id":"probe","name":[{"family":"Probe"}]}')
    // Definitions are compiled when the first resource of a type comes: not what is measured.
    for (const one of largeBodies({ bytes: 1024, entries: 2 }, 'warm')) await send(house.address, one)
    console.log(`${isPostgres ? 'postgres' : 'sqlite'}, ${megabytes} MB, ${atOnce} at once; ms at p50, p99, most`)
    console.log(
      `${''.padEnd(34)}    s   MB | /livez            | /Patient/probe    | a search          | longest turns in ms of CPU`,
    )
    for (const unmade of largeBodies({ bytes, entries: 100_000 }, 'stored')) {
      const one = { ...unmade } // the copy makes its body, before anything is measured
      if (!one.name.includes(part) && !(part !== '' && one.name === 'PUT of a collection' && part.includes('it')))
        continue
      const watches = WATCHED.map((path) => startStopwatch(`${house.address}${path}`))
      const small = setInterval(() => void send(house.address, SMALL).catch(() => undefined), SMALL_EVERY_MS)
      ;(await house.turns?.()) ?? { most: 0, long: [] }
      const from = performance.now()
      let most = 0
      const memory = setInterval(async () => {
        most = Math.max(most, (await house.cpu()).rss)
      }, 200)
      const ask = (): Promise<{ status: number; text: string }[]> =>
        Promise.all(Array.from({ length: Number(atOnce) }, () => send(house.address, one)))
      let answers: { status: number; text: string }[] = []
      const folder = process.env.PROFILE
      if (folder === undefined) answers = await ask()
      else
        await house.profile(`${folder}/${one.name.replaceAll(/\W+/g, '-')}.cpuprofile`, async () => {
          answers = await ask()
        })
      const seconds = (performance.now() - from) / 1000
      clearInterval(memory)
      clearInterval(small)
      const { most: turn, long } = (await house.turns?.()) ?? { most: 0, long: [] }
      const times = await Promise.all(watches.map((watch) => watch.stop()))
      const refused = answers.filter(({ status }) => !one.status.includes(status))
      const isFine = refused.length === 0 && times.every(({ p99, wrong }) => p99 <= MAX_MS && wrong === 0)
      if (!isFine) isWrong = true
      console.log(
        `${isFine ? 'ok   ' : 'WRONG'} ${one.name.padEnd(28)} ${seconds.toFixed(1).padStart(5)} ${Math.round(most / 1e6)
          .toString()
          .padStart(
            4,
          )} | ${times.map(shown).join(' | ')} | ${Math.round(turn).toString().padStart(4)} [${long.map(Math.round).join(' ')}] ${refused.map(({ status, text }) => `${status} ${text.slice(0, 300)}`).slice(0, 1)}`,
      )
    }
  } finally {
    await house.stop()
  }
  if (process.env.PROFILE !== undefined) console.log(printProfiles(process.env.PROFILE))
} finally {
  place.remove()
  await postgres?.stop()
}
process.exitCode = isWrong ? 1 : 0
