/** Figures 3, 4 and 5: creates and transactions against raw better-sqlite3 with the same rows, and bare Fastify. */
import type { Bench, Figure } from '../bench.ts'
import { load } from '../client.ts'
import { type Comparison, compare, type Round } from '../compare.ts'
import { createDice } from '../corpus/random.ts'
import { type Body, makeBodies, seedPeople, toCreates, toTransactions } from '../corpus/seed.ts'
import { createPlace, type House, type Place, startHouse } from '../house.ts'
import { measure, profile } from '../measure.ts'
import { startSubject } from '../process/subject.ts'
import { both, percent, times } from '../table.ts'
import { headersOf, startBare } from './bare.ts'

const CONNECTIONS = 16
/** Resources before a side is measured: by then what is measured is compiled, however fast the machine is. */
const WARM = 12_000
const BODIES = 2_000 // different ones, sent again and again
const PEOPLE = 200
const BATCH = 50 // resources of a transaction

interface Ready {
  readonly house: House
  readonly place: Place
  readonly bodies: readonly Body[]
}

const withHouse = async (bench: Bench, work: (ready: Ready) => Promise<void>): Promise<void> => {
  const place = createPlace()
  try {
    const house = await startHouse(bench, place)
    try {
      const dice = createDice(2)
      const people = await seedPeople(house.address, dice, PEOPLE)
      await work({ house, place, bodies: makeBodies(dice, people, BODIES) })
    } finally {
      await house.stop()
    }
  } finally {
    place.remove()
  }
}

/** The same requests in turn, as bytes. */
export const cycle = (requests: readonly Buffer[]): (() => Buffer) => {
  let at = 0
  return () => requests[at++ % requests.length] as Buffer
}

/** A search, which every row of the index must be in place for. */
export const searchOnce = async (address: string): Promise<void> => {
  const answer = await fetch(`${address}/Observation?status=entered-in-error&_count=1`)
  await answer.arrayBuffer()
  if (!answer.ok) throw new Error(`a search answers ${answer.status}`)
}

interface Replayed {
  readonly done: number
  readonly rows: number
  readonly seconds: number
  readonly micros: number
}

/** Creates by the server, then the rows it wrote by raw better-sqlite3, in turns. Rates are resources per second. */
const compareRaw = async (
  bench: Bench,
  { house, place }: Ready,
  requests: readonly Buffer[],
  connections: number,
  batch: number,
): Promise<Comparison & { readonly rowsEach: number }> => {
  const targetPath = place.path(`raw-${connections}-${batch}.sqlite`)
  const next = cycle(requests)
  const finish = () => searchOnce(house.address)
  const run = (seconds: number) => measure(house, { address: house.address, connections, next, seconds }, finish)
  await load({ address: house.address, connections: CONNECTIONS, next, requests: Math.ceil(WARM / batch) })
  const raw = startSubject('raw', { cores: bench.cores })
  await raw.ask('start', { sourcePath: place.sqlitePath, targetPath })
  let rowsEach = 0
  try {
    const ours = async (): Promise<Round> => {
      await raw.ask('mark')
      const { perSecond, cpu, busy } = await run(bench.seconds)
      return { perSecond: perSecond * batch, cpu: cpu / batch, busy }
    }
    const other = async (): Promise<Round> => {
      const { done, rows, seconds, micros: used } = await raw.ask<Replayed>('replay', { batch })
      rowsEach = rows / done
      return { perSecond: done / seconds, cpu: used / done, busy: used / 1_000_000 / seconds }
    }
    const comparison = await compare(bench.rounds, ours, other)
    return { ...comparison, rowsEach }
  } finally {
    await raw.stop()
  }
}

const reportRaw = (
  bench: Bench,
  figure: string,
  required: number,
  show: (ratio: number) => string,
  comparison: Comparison & { readonly rowsEach: number },
): void => {
  const { speed, rowsEach } = comparison
  bench.report({
    figure,
    required: `≥ ${show(required)}`,
    measured: show(speed.median),
    spread: `${show(speed.least)} … ${show(speed.most)}`,
    ok: speed.median >= required,
    beside: `${both(comparison)}; ${rowsEach.toFixed(1)} rows each`,
  })
}

export const create: Figure = {
  name: 'create',
  description: 'durable creates, 16 connections and one, against raw better-sqlite3 with the same rows',
  run: (bench) =>
    withHouse(bench, async (ready) => {
      const requests = toCreates(ready.house.address, ready.bodies)
      for (const [connections, required, show] of [
        [CONNECTIONS, 1.5, times],
        [1, 0.6, percent],
      ] as const) {
        bench.say(`creating over ${connections} connection${connections === 1 ? '' : 's'}`)
        const comparison = await compareRaw(bench, ready, requests, connections, 1)
        const name = `3 create, durable, ${connections} connection${connections === 1 ? '' : 's'}`
        reportRaw(bench, name, required, show, comparison)
      }
    }),
}

export const transaction: Figure = {
  name: 'transaction',
  description: 'transactions of 50 creates, against raw better-sqlite3 in batches of 50',
  run: (bench) =>
    withHouse(bench, async (ready) => {
      const requests = toTransactions(ready.house.address, ready.bodies, BATCH)
      const { status } = await fetch(`${ready.house.address}/`, {
        method: 'POST',
        headers: { 'content-type': 'application/fhir+json' },
        body: '{"resourceType":"Bundle","type":"transaction"}',
      })
      const figure = `5 transaction of ${BATCH}`
      if (status === 404 || status === 405)
        return bench.report({
          figure,
          required: '≥ 60 %',
          measured: 'not there',
          spread: '',
          ok: false,
          beside: `a transaction answers ${status}`,
        })
      bench.say('sending transactions')
      reportRaw(bench, figure, 0.6, percent, await compareRaw(bench, ready, requests, 4, BATCH))
    }),
}

/** Headers of an answer to a create, for the bare side to send as well. */
const createdHeaders = async (address: string, { type, text }: Body): Promise<Record<string, string>> => {
  const headers = { 'content-type': 'application/fhir+json', accept: 'application/fhir+json' }
  const answer = await fetch(`${address}/${type}`, { method: 'POST', headers, body: text })
  await answer.arrayBuffer()
  const { 'content-encoding': _encoding, ...kept } = headersOf(Object.fromEntries(answer.headers))
  return kept
}

export const createCpu: Figure = {
  name: 'create-cpu',
  description: 'CPU time of a create, against bare Fastify that parses the body and sends it back as text',
  run: (bench) =>
    withHouse(bench, async ({ house, bodies }) => {
      const bare = await startBare(bench, { created: await createdHeaders(house.address, bodies[0] as Body) })
      try {
        const side = (subject: House, finish?: () => Promise<void>) => {
          const next = cycle(toCreates(subject.address, bodies))
          const options = { address: subject.address, connections: CONNECTIONS, next }
          return {
            warm: () => load({ ...options, requests: WARM }),
            run: (seconds: number) => measure(subject, { ...options, seconds }, finish),
          }
        }
        const ours = side(house, () => searchOnce(house.address))
        const other = side(bare)
        await ours.warm()
        await other.warm()
        bench.say('creating and echoing')
        const comparison = await compare(
          bench.rounds,
          () => ours.run(bench.seconds),
          () => other.run(bench.seconds),
        )
        await profile(bench, 'create', house, ours.run)
        await profile(bench, 'create-bare', bare, other.run)
        const { cpu } = comparison
        bench.report({
          figure: '4 create, CPU',
          required: '≤ 4x',
          measured: times(cpu.median),
          spread: `${times(cpu.least)} … ${times(cpu.most)}`,
          ok: cpu.median <= 4,
          beside: both(comparison),
        })
      } finally {
        await bare.stop()
      }
    }),
}
