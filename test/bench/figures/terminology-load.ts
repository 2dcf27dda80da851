/**
 * `server terminology load` of a release of SNOMED CT with 400,000 made concepts: how long it takes, and its memory. Mapped
 * pages of the SQLite file are not counted: the system takes them back when it needs room.
 */
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { startPostgres } from '../../support/postgres.ts'
import type { Bench, Figure } from '../bench.ts'
import { writeSnomedFiles } from '../corpus/snomed-files.ts'
import { createPlace, type Place } from '../house.ts'
import { buildProgram, ROOT, startProgram } from '../program.ts'

const CONCEPTS = 400_000
const MAX_SECONDS = 600
const MAX_MEGABYTES = 500
const LOOK_MS = 200
const TICKS = 100 // of /proc in a second, on every Linux of ours

interface Taken {
  readonly seconds: number
  readonly cpu: number
  /** Anonymous memory. */
  readonly megabytes: number
  /** With the mapped pages. */
  readonly resident: number
}

/** Runs the command to its end. */
const load = async (folder: string, database: readonly string[]): Promise<Taken> => {
  const began = performance.now()
  const child = spawn(process.execPath, [join(ROOT, 'cli', 'bin.js'), 'terminology', 'load', folder, ...database], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, SERVER_SKIP_DEFAULT_PACKAGES: 'true' },
  })
  let [megabytes, resident, cpu] = [0, 0, 0]
  const look = setInterval(() => {
    try {
      const status = readFileSync(`/proc/${child.pid}/status`, 'utf8')
      const most = (name: string, before: number): number =>
        Math.max(before, Math.round(Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1] ?? 0) / 1024))
      megabytes = most('RssAnon', megabytes)
      resident = most('VmHWM', resident)
      const fields = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
      cpu = (Number(fields[11]) + Number(fields[12])) / TICKS
    } catch {
      // It has just ended.
    }
  }, LOOK_MS)
  const code = await new Promise((resolve) => child.once('exit', resolve))
  clearInterval(look)
  if (code !== 0) throw new Error(`the command ended with ${code}`)
  return { seconds: (performance.now() - began) / 1000, cpu, megabytes, resident }
}

const run = async (bench: Bench, name: string, place: Place, folder: string, postgresUrl?: string): Promise<void> => {
  const program = await startProgram(bench, place, postgresUrl === undefined ? {} : { postgresUrl })
  await program.stop()
  const database = postgresUrl === undefined ? ['--sqlite', place.sqlitePath] : ['--postgres', postgresUrl]
  const { seconds, cpu, megabytes, resident } = await load(folder, database)
  const beside = `${seconds.toFixed(0)} s, ${cpu.toFixed(0)} s of CPU, ${CONCEPTS} concepts, ${resident} MB resident`
  bench.report({
    figure: `terminology load into ${name}: time`,
    required: `<= ${MAX_SECONDS} s`,
    measured: `${seconds.toFixed(0)} s`,
    spread: '',
    ok: seconds <= MAX_SECONDS,
    beside,
  })
  bench.report({
    figure: `terminology load into ${name}: largest memory`,
    required: `<= ${MAX_MEGABYTES} MB`,
    measured: `${megabytes} MB`,
    spread: '',
    ok: megabytes <= MAX_MEGABYTES,
    beside,
  })
}

export const terminologyLoad: Figure = {
  name: 'terminology-load',
  description: 'server terminology load of 400,000 made concepts of SNOMED CT, on SQLite and PostgreSQL',
  async run(bench) {
    buildProgram()
    const place = createPlace()
    try {
      const folder = place.path('release')
      writeSnomedFiles(folder, CONCEPTS)
      bench.say('loading into SQLite')
      await run(bench, 'SQLite', place, folder)
      const postgres = await startPostgres({ settings: { fsync: 'on', synchronous_commit: 'on' } })
      try {
        await postgres.createDatabase('terminology')
        bench.say('loading into PostgreSQL')
        await run(bench, 'PostgreSQL', place, folder, postgres.url(undefined, 'terminology'))
      } finally {
        await postgres.stop()
      }
    } finally {
      place.remove()
    }
  },
}
