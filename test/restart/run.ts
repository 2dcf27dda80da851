/**
 * How long the compiled program takes from the start of its process until /readyz is 200, over a database of many resources,
 * beside that of another checkout: `npm run check:restart -- [rounds] [resources] [folder of the other checkout] [kind]`, where
 * kind is sqlite or postgres. Both are started in turns on the same database, and the medians are printed. The first start on
 * an empty database, which installs R4, is timed before. Part of no test: a loaded machine is no bug.
 */
import { resolve } from 'node:path'
import { median, spreadOf } from '../bench/compare.ts'
import { createDice } from '../bench/corpus/random.ts'
import { makeBodies, seed, seedPeople } from '../bench/corpus/seed.ts'
import { createPlace } from '../bench/house.ts'
import { buildProgram, type Program, type ProgramOptions, ROOT, startProgram } from '../bench/program.ts'
import { megabytes, millis } from '../bench/table.ts'
import { startPostgres } from '../support/postgres.ts'

const READY_MS = 1_000
const REST_BYTES = 145 * 1024 * 1024
const REST_MS = 3_000 // after ready, until nothing of the start is under way any more
const UNBOUND = { cores: { server: undefined, description: '' } }

const [rounds = 7, resources = 50_000] = process.argv.slice(2, 4).map(Number)
const [other, only] = process.argv.slice(4)
if (!(rounds > 0 && resources >= 0)) throw new Error('rounds and resources are numbers')
const sides = [...(other === undefined ? [] : [{ name: 'other', root: resolve(other) }]), { name: 'this', root: ROOT }]
const wrong: string[] = []
const expect = (isSo: boolean, sentence: string): void => {
  console.log(`${isSo ? 'ok   ' : 'WRONG'} ${sentence}`)
  if (!isSo) wrong.push(sentence)
}

interface Restart {
  readonly ms: number
  readonly cpuMs: number
  readonly bytes: number
}

const fill = async ({ address }: Program): Promise<void> => {
  if (resources === 0) return
  const dice = createDice(4)
  const people = await seedPeople(address, dice, Math.max(1, Math.floor(resources / 40)))
  await seed(address, makeBodies(dice, people, resources))
}

const restart = async (start: () => Promise<Program>): Promise<Restart> => {
  const program = await start()
  try {
    await new Promise((done) => setTimeout(done, REST_MS))
    return { ms: program.readyMs, cpuMs: program.readyCpuMs ?? Number.NaN, bytes: program.rss() }
  } finally {
    await program.stop()
  }
}

const tell = (label: string, restarts: readonly Restart[]): { readonly ms: number; readonly bytes: number } => {
  const { median: ms, least, most } = spreadOf(restarts.map((one) => one.ms))
  const bytes = median(restarts.map((one) => one.bytes))
  const cpu = millis(median(restarts.map((one) => one.cpuMs)))
  console.log(
    `${label}: ready after ${millis(ms)} (${millis(least)} … ${millis(most)}), CPU ${cpu}, ${megabytes(bytes)}`,
  )
  return { ms, bytes }
}

const check = async (kind: string, database: ProgramOptions): Promise<void> => {
  const place = createPlace()
  try {
    const first = await startProgram(UNBOUND, place, database)
    try {
      console.log(`${kind}, the first start, which installs R4: ready after ${millis(first.readyMs)}`)
      await fill(first)
    } finally {
      await first.stop()
    }
    const taken = new Map<string, Restart[]>(sides.map(({ name }) => [name, []]))
    // The round before the first one fills the caches of the system and of compiled modules.
    for (let round = 0; round <= rounds; round += 1)
      for (const { name, root } of sides) {
        const one = await restart(() => startProgram(UNBOUND, place, { ...database, root }))
        if (round > 0) taken.get(name)?.push(one)
      }
    for (const [name, restarts] of taken) {
      const { ms, bytes } = tell(`${kind}, ${resources} resources, ${name}`, restarts)
      if (name !== 'this') continue
      expect(ms <= READY_MS, `${kind}: ready within ${millis(READY_MS)}`)
      expect(bytes <= REST_BYTES, `${kind}: at rest at most ${megabytes(REST_BYTES)}`)
    }
  } finally {
    place.remove()
  }
}

for (const { root } of sides) buildProgram(root)
if (only === undefined || only === 'sqlite') await check('sqlite', {})
if (only === undefined || only === 'postgres') {
  const postgres = await startPostgres({ settings: { fsync: 'on' } })
  try {
    await postgres.createDatabase('restart')
    await check('postgres', { postgresUrl: postgres.url(undefined, 'restart') })
  } finally {
    await postgres.stop()
  }
}
process.exitCode = wrong.length === 0 ? 0 : 1
