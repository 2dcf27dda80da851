/** Point reads over 8 connections beside exports that follow one another, and without, in turns, on SQLite. */
import { mkdirSync } from 'node:fs'
import type { Bench, Figure } from '../bench.ts'
import { toGet } from '../client.ts'
import { compare, type Round } from '../compare.ts'
import { createDice } from '../corpus/random.ts'
import { makeBodies, seed, seedPeople } from '../corpus/seed.ts'
import { createPlace, type House, startHouse } from '../house.ts'
import { measure, profile } from '../measure.ts'
import { both, megabytes, percent } from '../table.ts'

const CONNECTIONS = 8
const PEOPLE = 200
const READ = 1_000 // resources that are read again and again
const LOOK_MS = 50
const REQUIRED = 0.8
const REQUIRED_BYTES = 50 * 1024 * 1024 // for each second of CPU

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

interface Exports {
  readonly done: number
  readonly lines: number
  readonly bytes: number
}

/** Exports everything again and again, until `isOver`. The last export is ended where it is, unless `toTheEnd`. */
const exportUntil = async (address: string, isOver: () => boolean, toTheEnd = false): Promise<Exports> => {
  let [done, lines, bytes] = [0, 0, 0]
  let under = 0 // lines of the export that runs, as last reported
  while (!isOver()) {
    const begun = await fetch(`${address}/$export`)
    if (begun.status !== 202) throw new Error(`$export answers ${begun.status}: ${await begun.text()}`)
    const job = begun.headers.get('content-location') as string
    await begun.arrayBuffer()
    while (toTheEnd || !isOver()) {
      const answer = await fetch(job)
      const text = await answer.text()
      if (answer.status === 500) throw new Error(text)
      under = Number(/: (\d+) resources/.exec(answer.headers.get('x-progress') ?? '')?.[1] ?? under)
      if (answer.status === 200) {
        done += 1
        under = 0
        for (const { url, count } of (JSON.parse(text) as { output: { url: string; count: number }[] }).output) {
          lines += count
          const file = await fetch(url, { headers: { 'accept-encoding': 'identity' } })
          bytes += Number(file.headers.get('content-length'))
          await file.body?.cancel()
        }
        break
      }
      await pause(LOOK_MS)
    }
    lines += under
    under = 0
    await (await fetch(job, { method: 'DELETE' })).arrayBuffer()
  }
  return { done, lines, bytes }
}

const run = async (bench: Bench, house: House, references: readonly string[]): Promise<void> => {
  let at = 0
  const options = {
    address: house.address,
    connections: CONNECTIONS,
    next: () => toGet(house.address, `/${references[at++ % references.length]}`),
  }
  const alone = (seconds = bench.seconds): Promise<Round> => measure(house, { ...options, seconds })
  let written: Exports = { done: 0, lines: 0, bytes: 0 }
  const beside = async (seconds = bench.seconds): Promise<Round> => {
    let isOver = false
    const exporting = exportUntil(house.address, () => isOver)
    // The first pages are read before reads are counted.
    await pause(LOOK_MS)
    const round = await measure(house, { ...options, seconds })
    isOver = true
    const { done, lines, bytes } = await exporting
    written = { done: written.done + done, lines: written.lines + lines, bytes: written.bytes + bytes }
    return round
  }
  await alone()
  await beside()
  written = { done: 0, lines: 0, bytes: 0 }
  bench.say('reading beside exports, and without')
  const comparison = await compare(bench.rounds, beside, alone)
  const shown = written
  await profile(bench, 'beside-export', house, beside)
  const { speed } = comparison
  bench.report({
    figure: `reads beside an export / alone, ${CONNECTIONS} connections`,
    required: `≥ ${percent(REQUIRED)}`,
    measured: percent(speed.median),
    spread: `${percent(speed.least)} … ${percent(speed.most)}`,
    ok: speed.median >= REQUIRED,
    beside: `${both(comparison)}; ${shown.done} exports ended meanwhile, ${shown.lines} lines, ${megabytes(shown.bytes)}`,
  })
  const startedAt = performance.now()
  const before = await house.cpu()
  const quiet = await exportUntil(house.address, () => performance.now() - startedAt > bench.seconds * 1000, true)
  const cpu = ((await house.cpu()).micros - before.micros) / 1_000_000
  const seconds = (performance.now() - startedAt) / 1000
  bench.report({
    figure: 'exports without reads beside them, for each second of CPU of all threads',
    required: `≥ ${megabytes(REQUIRED_BYTES)}`,
    measured: megabytes(quiet.bytes / cpu),
    spread: '',
    ok: quiet.bytes / cpu >= REQUIRED_BYTES,
    beside: `${quiet.done} exports, ${quiet.lines} lines; ${megabytes(quiet.bytes / seconds)} for each second of time`,
  })
}

export const besideExport: Figure = {
  name: 'export',
  description: 'point reads beside an export on SQLite, against the same reads alone',
  async run(bench) {
    const place = createPlace()
    const dir = place.path('exports')
    mkdirSync(dir)
    try {
      const house = await startHouse(bench, place, { settings: { export: { dir } }, unbound: true })
      try {
        const dice = createDice(4)
        const people = await seedPeople(house.address, dice, PEOPLE)
        bench.say(`seeding ${bench.resources} resources`)
        const { references } = await seed(house.address, makeBodies(dice, people, bench.resources))
        await run(bench, house, references.slice(0, READ))
      } finally {
        await house.stop()
      }
    } finally {
      place.remove()
    }
  },
}
