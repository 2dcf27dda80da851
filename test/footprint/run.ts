/**
 * Memory of the server as it is shipped, in a process of its own: `npm run check:footprint -- [minutes] [folder of another
 * checkout] [kind]`, where kind is sqlite or postgres. After its first start, which installs R4, it gets minutes of reads,
 * searches, creates and deletes over 16 connections, rests, imports a file by $import and rests again. With another checkout
 * its server gets the same load in turns, and the ratios of throughput and of CPU time are printed. SERVER_MEMORY_BYTES bounds
 * both. Part of no test.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { median } from '../bench/compare.ts'
import { createDice } from '../bench/corpus/random.ts'
import { makeBodies, type People, seedPeople } from '../bench/corpus/seed.ts'
import { createPlace, type Place } from '../bench/house.ts'
import { examplesFolder } from '../bench/plugins.ts'
import { buildProgram, ROOT } from '../bench/program.ts'
import { startPostgres } from '../support/postgres.ts'
import { createMixedLoad, type MixedLoad } from './mixed-load.ts'
import { type Memory, type ServerProcess, startServerProcess } from './server-process.ts'

const MAX_RSS = 500 * 1024 * 1024
const MAX_RESTED = 200 * 1024 * 1024 // anonymous, after an installation
const MAX_LEFT = 50 * 1024 * 1024 // anonymous, by which an import may leave more than the load before it
const LEAST_PACE = 0.95
const CONNECTIONS = 16
const PATIENTS = 500
const IMPORTED = 60_000 // resources
const SLICE_SECONDS = 20
const REST_SECONDS = 20

const [minutes = 7] = process.argv.slice(2, 3).map(Number)
const KINDS = ['sqlite', 'postgres']
const more = process.argv.slice(3)
const kind = more.find((one) => KINDS.includes(one)) ?? 'sqlite'
const other = more.find((one) => !KINDS.includes(one))
if (!(minutes > 0)) throw new Error('minutes is a number')

interface Side {
  readonly name: string
  readonly place: Place
  readonly server: ServerProcess
  readonly people: People
  readonly load: MixedLoad
  readonly slices: { readonly perSecond: number; readonly cpu: number }[]
}

const wrong: string[] = []
const expect = (isSo: boolean, sentence: string): void => {
  console.log(`${isSo ? 'ok   ' : 'WRONG'} ${sentence}`)
  if (!isSo) wrong.push(sentence)
}
const mb = (bytes: number): string => `${Math.round(bytes / 1024 / 1024)}`
const COLUMNS = ['rss', 'anonymous', 'file', 'heapTotal', 'heapUsed', 'young', 'external', 'arrayBuffers'] as const
const startedAt = performance.now()
const tell = (name: string, when: string, memory: Memory): void => {
  const seconds = Math.round((performance.now() - startedAt) / 1000)
  const cells = COLUMNS.map((column) => mb(memory[column]).padStart(7))
  console.log(
    `${`${seconds}`.padStart(5)} s  ${name.padEnd(6)}${when.padEnd(30)}${cells.join('')}  peak ${mb(memory.peak)}`,
  )
}
const pause = (seconds: number): Promise<void> => new Promise((done) => setTimeout(done, seconds * 1000))

/** Milliseconds of CPU of all its threads. https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html */
const cpuMs = (pid: number): number => {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) * 10
}

const configure = (place: Place, database: string): string => {
  const folder = JSON.stringify(place.path('.'))
  const text = `
[server]
bind = "127.0.0.1:0"
[database]
${database}
[conformance]
skip_default_packages = true
package_cache = ${JSON.stringify(place.path('packages'))}
packages = [${JSON.stringify(examplesFolder)}]
[import]
sources = [${folder}]
`
  writeFileSync(place.path('server.toml'), text)
  return place.path('server.toml')
}

const importFile = async ({ server, place, people }: Side): Promise<void> => {
  const path = place.path('import.ndjson')
  const bodies = makeBodies(createDice(7), people, IMPORTED).filter(({ type }) => type === 'Observation')
  writeFileSync(path, bodies.map(({ text }) => text).join('\n'))
  const part = [
    { name: 'type', valueCode: 'Observation' },
    { name: 'url', valueUri: `file://${path}` },
  ]
  const parameter = [
    { name: 'inputFormat', valueCode: 'application/fhir+ndjson' },
    { name: 'input', part },
  ]
  const begun = await fetch(`${server.address}/$import`, {
    method: 'POST',
    headers: { 'content-type': 'application/fhir+json', prefer: 'respond-async' },
    body: JSON.stringify({ resourceType: 'Parameters', parameter }),
  })
  const job = begun.headers.get('content-location')
  if (begun.status !== 202 || job === null) throw new Error(`$import answered ${begun.status}: ${await begun.text()}`)
  for (;;) {
    await pause(1)
    const { status } = await fetch(job)
    if (status === 200) return
    if (status !== 202) throw new Error(`the import answered ${status}`)
  }
}

const start = async (name: string, root: string, database: (place: Place) => Promise<string>): Promise<Side> => {
  const place = createPlace()
  const server = await startServerProcess({ root, config: configure(place, await database(place)) })
  tell(name, 'installed', await server.memory())
  await pause(REST_SECONDS)
  const rested = await server.memory()
  tell(name, `${REST_SECONDS} s after the installation`, rested)
  if (name === 'this')
    expect(
      rested.anonymous <= MAX_RESTED,
      `after an installation ${mb(rested.anonymous)} MB, at most ${mb(MAX_RESTED)}`,
    )
  const dice = createDice(4)
  const people = await seedPeople(server.address, dice, PATIENTS)
  const load = createMixedLoad(server.address, CONNECTIONS, dice, people)
  return { name, place, server, people, load, slices: [] }
}

const runSlice = async ({ name, server, load, slices, place }: Side, when: string): Promise<void> => {
  const before = cpuMs(server.pid)
  load.taken()
  const perSecond = await load.run(SLICE_SECONDS)
  const cpu = (cpuMs(server.pid) - before) / load.taken()
  slices.push({ perSecond, cpu })
  tell(name, `${when} ${Math.round(perSecond)}/s, file ${mb(place.size())}`, await server.memory())
}

const compare = (sides: readonly Side[]): void => {
  const [one, two] = sides.map(({ slices }) => slices)
  if (one === undefined || two === undefined) return
  const ratio = (of: 'perSecond' | 'cpu'): number =>
    median(two.map((slice, at) => slice[of] / (one[at]?.[of] ?? Number.NaN)))
  console.log(`of a request's CPU time this takes ${ratio('cpu').toFixed(3)} of the other, by median of pairs`)
  expect(
    ratio('perSecond') >= LEAST_PACE,
    `throughput ${ratio('perSecond').toFixed(3)} of the other, by median of pairs`,
  )
}

const postgres = kind === 'postgres' ? await startPostgres({ settings: { fsync: 'on' } }) : undefined
let made = 0
const databaseOf = async ({ sqlitePath }: Place): Promise<string> => {
  if (postgres === undefined) return `kind = "sqlite"\nsqlite_path = ${JSON.stringify(sqlitePath)}`
  made += 1
  await postgres.createDatabase(`footprint${made}`)
  return `kind = "postgres"\npostgres_url = ${JSON.stringify(postgres.url(undefined, `footprint${made}`))}`
}

const roots = [...(other === undefined ? [] : [{ name: 'other', root: resolve(other) }]), { name: 'this', root: ROOT }]
for (const { root } of roots) buildProgram(root)
console.log(`${''.padEnd(44)}${COLUMNS.map((column) => column.slice(0, 6).padStart(7)).join('')}  (MB)`)
const sides: Side[] = []
try {
  for (const { name, root } of roots) sides.push(await start(name, root, databaseOf))
  const count = Math.max(1, Math.round((minutes * 60) / SLICE_SECONDS))
  for (let slice = 1; slice <= count; slice += 1)
    for (const side of slice % 2 === 0 ? sides : sides.toReversed()) await runSlice(side, `load ${slice}:`)
  compare(sides)
  for (const side of sides) {
    const { name, server } = side
    const loaded = await server.memory()
    if (name === 'this')
      expect(loaded.peak <= MAX_RSS, `at most ${mb(loaded.peak)} MB resident, and ${mb(MAX_RSS)} are allowed`)
    await pause(REST_SECONDS)
    const before = await server.memory()
    tell(name, `${REST_SECONDS} s after the load`, before)
    await importFile(side)
    tell(name, 'imported', await server.memory())
    await pause(REST_SECONDS)
    const rested = await server.memory()
    tell(name, `${REST_SECONDS} s after the import`, rested)
    const left = rested.anonymous - before.anonymous
    if (name === 'this') expect(left <= MAX_LEFT, `an import leaves ${mb(left)} MB more, at most ${mb(MAX_LEFT)}`)
  }
} finally {
  for (const { server, place } of sides) {
    await server.stop()
    place.remove()
  }
  await postgres?.stop()
}
process.exitCode = wrong.length === 0 ? 0 : 1
