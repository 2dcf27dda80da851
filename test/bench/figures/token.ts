/** Figure O: what a read with an access token costs beside one of a server that asks for none. */
import { randomBytes } from 'node:crypto'
import BetterSqlite from 'better-sqlite3'
import { BUILT_IN } from '../../../plugins/smart/clients/client.ts'
import { hashOf, newSecret } from '../../../plugins/smart/secret.ts'
import { ACCESS, insertToken } from '../../../plugins/smart/tables.ts'
import type { Bench, Figure } from '../bench.ts'
import { load, toGet } from '../client.ts'
import { compare } from '../compare.ts'
import { createDice } from '../corpus/random.ts'
import { makeBodies, seed, seedPeople } from '../corpus/seed.ts'
import { createPlace, type House, type Place, startHouse } from '../house.ts'
import { measure, profile } from '../measure.ts'
import type { Settings } from '../plugins.ts'
import { both, percent } from '../table.ts'

const CONNECTIONS = 16
const WARM = 60_000
const RESOURCES = 1_000
const TOKENS = 100_000
const LIFE_MS = 3_600_000
const MAX_CPU = 1.15 // of a read without a token
const SETTINGS: Settings = {
  smart: {
    enabled: true,
    dcr_token: randomBytes(32).toString('hex'),
    confidential_secret: randomBytes(32).toString('hex'),
  },
}

const fill = async (bench: Bench, place: Place, settings: Settings): Promise<readonly string[]> => {
  const plain = await startHouse(bench, place)
  let paths: readonly string[]
  try {
    const dice = createDice(1)
    const people = await seedPeople(plain.address, dice, 25)
    const { references } = await seed(plain.address, makeBodies(dice, people, RESOURCES))
    paths = references.map((reference) => `/${reference}`)
  } finally {
    await plain.stop()
  }
  // The tables of tokens are made by the first start with them.
  await (await startHouse(bench, place, { settings })).stop()
  return paths
}

/** Stores access tokens of the built-in client that may read everything, while no server has the file. */
const addTokens = (place: Place, count: number): readonly string[] => {
  const handle = new BetterSqlite(place.sqlitePath)
  const insert = handle.prepare(insertToken.sqlite)
  const now = Date.now()
  const tokens = Array.from({ length: count }, newSecret)
  handle.transaction(() => {
    for (const token of tokens) insert.run(hashOf(token), ACCESS, null, BUILT_IN, 'system/*.rs', now, now + LIFE_MS)
  })()
  handle.close()
  return tokens
}

const withHeader = (address: string, path: string, header: string): string =>
  toGet(address, path).replace('\r\n\r\n', `\r\n${header}\r\n\r\n`)

const sideOf = (house: House, next: () => string, warmNext = next) => {
  const options = { address: house.address, connections: CONNECTIONS, next }
  return {
    warm: (requests: number) => load({ ...options, next: warmNext, requests }),
    run: (seconds: number) => measure(house, { ...options, seconds }),
  }
}

const compareWith = async (
  bench: Bench,
  name: string,
  plain: { readonly house: House; readonly paths: readonly string[] },
  guarded: { readonly house: House; readonly paths: readonly string[]; readonly tokens: readonly string[] },
): Promise<void> => {
  bench.say(name)
  const dice = createDice(7)
  const [path = '', single = ''] = [plain.paths[0], guarded.paths[0]]
  const { address } = guarded.house
  // Made before, as the one request of the other side is: a client that is busy with them leaves the server idle, and then
  // each request takes more CPU time.
  const requests = guarded.tokens.map((token) => withHeader(address, single, `authorization: Bearer ${token}`))
  // Where each request has another token, those without one differ as much, or the client's memory would be measured.
  const others =
    guarded.tokens.length === 1
      ? [toGet(plain.house.address, path)]
      : guarded.tokens.map((token) => withHeader(plain.house.address, path, `x-other-header: ${token}`))
  let warmed = 0
  const ours = sideOf(
    guarded.house,
    () => dice.pick(requests),
    // Each token at least once, so that no round measures its first use.
    () => requests[warmed++ % requests.length] as string,
  )
  const other = sideOf(plain.house, () => dice.pick(others))
  await ours.warm(Math.max(WARM, guarded.tokens.length))
  await other.warm(Math.max(WARM, guarded.tokens.length))
  const comparison = await compare(
    bench.rounds,
    () => ours.run(bench.seconds),
    () => other.run(bench.seconds),
  )
  const file = name.replaceAll(/[^a-z0-9]+/g, '-')
  await profile(bench, file, guarded.house, ours.run)
  await profile(bench, `${file}-without`, plain.house, other.run)
  const { cpu } = comparison
  bench.report({
    figure: `O ${name}, CPU of a read without a token`,
    required: `≤ ${percent(MAX_CPU)}`,
    measured: percent(cpu.median),
    spread: `${percent(cpu.least)} … ${percent(cpu.most)}`,
    ok: cpu.median <= MAX_CPU,
    beside: both(comparison),
  })
}

/** Starts both servers together: one that has answered more requests is compiled better. */
const beside = async (
  bench: Bench,
  places: { readonly plain: Place; readonly guarded: Place },
  use: (plain: House, guarded: House) => Promise<void>,
): Promise<void> => {
  const plain = await startHouse(bench, places.plain)
  try {
    const guarded = await startHouse(bench, places.guarded, { settings: SETTINGS })
    try {
      await use(plain, guarded)
    } finally {
      await guarded.stop()
    }
  } finally {
    await plain.stop()
  }
}

const run = async (bench: Bench): Promise<void> => {
  const places = { plain: createPlace(), guarded: createPlace() }
  try {
    bench.say(`creating ${RESOURCES} resources, twice`)
    const paths = { plain: await fill(bench, places.plain, {}), guarded: await fill(bench, places.guarded, SETTINGS) }
    const few = addTokens(places.guarded, 1)
    await beside(bench, places, async (plain, guarded) => {
      const sides = [
        { house: plain, paths: paths.plain },
        { house: guarded, paths: paths.guarded, tokens: few },
      ] as const
      await compareWith(bench, 'one token', ...sides)
    })
    const many = addTokens(places.guarded, TOKENS)
    await beside(bench, places, async (plain, guarded) => {
      const without = { house: plain, paths: paths.plain }
      const withTokens = { house: guarded, paths: paths.guarded }
      await compareWith(bench, `one of ${TOKENS} tokens`, without, { ...withTokens, tokens: few })
      await compareWith(bench, `another of ${TOKENS} tokens each time`, without, { ...withTokens, tokens: many })
    })
  } finally {
    for (const place of Object.values(places)) place.remove()
  }
}

export const token: Figure = {
  name: 'token',
  description: 'read by id with an access token, hot, beside a server without SMART; with 100,000 tokens stored',
  run,
}
