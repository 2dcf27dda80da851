/** Figure S: from the start of the process to ready, and memory at rest. */
import type { Bench, Figure } from '../bench.ts'
import { load, toGet } from '../client.ts'
import { median, spreadOf } from '../compare.ts'
import { createDice } from '../corpus/random.ts'
import { makeBodies, seed, seedPeople } from '../corpus/seed.ts'
import { createPlace, type Place } from '../house.ts'
import { buildProgram, type Program, startProgram } from '../program.ts'
import { megabytes, millis } from '../table.ts'

const READY_MS = 1_000
const REST_BYTES = 150 * 1024 * 1024
const REST_MS = 3_000 // after ready, until nothing of the start is under way any more

const fill = async ({ address }: Program, count: number): Promise<readonly string[]> => {
  if (count === 0) return []
  const dice = createDice(4)
  const people = await seedPeople(address, dice, Math.max(1, Math.floor(count / 40)))
  const { references } = await seed(address, makeBodies(dice, people, count))
  return references.map((reference) => `/${reference}`)
}

/** A database with the package installed and `count` resources in it. */
const withFilled = async (bench: Bench, count: number, work: (place: Place) => Promise<void>): Promise<void> => {
  const place = createPlace()
  try {
    bench.say(`a database of ${count} resources`)
    const first = await startProgram(bench, place)
    try {
      await fill(first, count)
    } finally {
      await first.stop()
    }
    await work(place)
  } finally {
    place.remove()
  }
}

const measureRestarts = async (bench: Bench, place: Place, count: number): Promise<void> => {
  const took: number[] = []
  for (let n = 0; n < bench.rounds; n += 1) {
    const program = await startProgram(bench, place)
    took.push(program.readyMs)
    await program.stop()
  }
  const { least, most } = spreadOf(took)
  bench.report({
    figure: `S restart, ${count} resources`,
    required: `≤ ${millis(READY_MS)}`,
    measured: millis(median(took)),
    spread: `${millis(least)} … ${millis(most)}`,
    ok: median(took) <= READY_MS,
    beside: `the compiled program, its process included; file ${megabytes(place.size())}`,
  })
}

export const restart: Figure = {
  name: 'restart',
  description: 'start of the process to ready, with the package installed: empty, and with --resources stored',
  async run(bench) {
    buildProgram()
    for (const count of [0, bench.resources])
      await withFilled(bench, count, (place) => measureRestarts(bench, place, count))
  },
}

const rest = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, REST_MS))

const measureMemory = async (bench: Bench, place: Place): Promise<void> => {
  const program = await startProgram(bench, place)
  try {
    await rest()
    const atRest = program.rss()
    bench.report({
      figure: 'S memory at rest',
      required: `≤ ${megabytes(REST_BYTES)}`,
      measured: megabytes(atRest),
      spread: '',
      ok: atRest <= REST_BYTES,
      beside: `resident, ${REST_MS / 1000} s after ready`,
    })
    bench.say('load, then rest')
    const paths = await fill(program, 10_000)
    const dice = createDice(5)
    const next = (): string => toGet(program.address, dice.pick(paths))
    await load({ address: program.address, connections: 16, next, seconds: bench.seconds })
    await rest()
    bench.report({
      figure: 'S memory after load',
      required: '-',
      measured: megabytes(program.rss()),
      spread: '',
      ok: undefined,
      beside: `${paths.length} creates and ${bench.seconds} s of reads before`,
    })
  } finally {
    await program.stop()
  }
}

export const memory: Figure = {
  name: 'memory',
  description: 'resident memory at rest after a restart, and after load',
  async run(bench) {
    buildProgram()
    await withFilled(bench, 0, (place) => measureMemory(bench, place))
  },
}
