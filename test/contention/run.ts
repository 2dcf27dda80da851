/**
 * Runs the load of clients.ts against the server as it is shipped, in processes of their own, on SQLite, on PostgreSQL, and
 * as a primary and a replica on one PostgreSQL: `npm run check:contention -- [seconds] [clients] [patients] [seed] [kind]`, where kind
 * is sqlite, postgres or two. No answer may be a 5xx or take two seconds, and no
 * transactions may wait for each other.
 */
import { createPlace, type House, startHouse } from '../bench/house.ts'
import { startPostgres } from '../support/postgres.ts'
import { runLoad, type Send } from './clients.ts'

const LONGEST_MS = 2_000

const [seconds = 30, clients = 40, patients = 12, seed = 1] = process.argv.slice(2, 6).map(Number)
const only = process.argv[6]
const wrong: string[] = []
const expect = (isSo: boolean, sentence: string): void => {
  console.log(`${isSo ? 'ok   ' : 'WRONG'} ${sentence}`)
  if (!isSo) wrong.push(sentence)
}

const check = async (kind: string, database: Readonly<Record<string, unknown>>, servers = 1): Promise<void> => {
  const secrets = { dcr_token: 'd'.repeat(32), confidential_secret: 'c'.repeat(32) }
  const settings = { database, conformance: { update_as_create: true }, smart: secrets }
  const places = Array.from({ length: servers }, createPlace)
  const houses: House[] = []
  try {
    for (const place of places) {
      const primaryUrl = houses[0]?.address
      const cluster = primaryUrl === undefined ? {} : { cluster: { role: 'replica', primary_url: primaryUrl } }
      const machine = { cores: { server: undefined, description: '' } }
      houses.push(await startHouse(machine, place, { settings: { ...settings, ...cluster } }))
    }
    let turn = 0
    const send: Send = async ({ url, ...request }) => {
      turn += 1
      const house = houses[turn % servers] as House
      const answer = await fetch(`${house.address}${url}`, request)
      return { status: answer.status, text: await answer.text() }
    }
    const end = performance.now() + seconds * 1_000
    const isOver = (): boolean => performance.now() > end
    const { counts, answers, faults, longest, kept } = await runLoad(send, { clients, patients, seed, isOver })
    console.log(`${kind}: ${answers} answers to ${clients} clients on ${patients} patients in ${seconds} s`)
    console.log(Object.fromEntries(Object.entries(counts).sort()))
    expect(faults.length === 0, `${kind}: ${faults.length} answers were unexpected ${faults.slice(0, 5).join('\n')}`)
    expect(
      longest.ms < LONGEST_MS,
      `${kind}: the longest answer took ${Math.round(longest.ms)} ms (${longest.operation})`,
    )
    let missing = 0
    for (const key of kept) if ((await send({ method: 'GET', url: `/${key}` })).status !== 200) missing += 1
    expect(missing === 0, `${kind}: of ${kept.length} acknowledged creates ${missing} are missing`)
    const trail = await send({ method: 'GET', url: '/_audit/verify' })
    expect((JSON.parse(trail.text) as { ok?: boolean }).ok === true, `${kind}: the audit trail is ${trail.text}`)
  } finally {
    await Promise.all(houses.map((house) => house.stop()))
    for (const place of places) place.remove()
  }
}

if (only === undefined || only === 'sqlite') await check('sqlite', { kind: 'sqlite' })
if (only !== 'sqlite') {
  const postgres = await startPostgres({ settings: { fsync: 'on' } })
  try {
    for (const [kind, servers] of [
      ['postgres', 1],
      ['two', 2],
    ] as const) {
      if (only !== undefined && only !== kind) continue
      await postgres.createDatabase(`contention_${kind}`)
      const from = postgres.log().length
      await check(kind, { kind: 'postgres', postgres_url: postgres.url(undefined, `contention_${kind}`) }, servers)
      const log = postgres.log().slice(from)
      const deadlocks = [...log.matchAll(/deadlock detected[\s\S]*?(?=LOG:|ERROR:|$)/g)].map(([text]) => text)
      expect(deadlocks.length === 0, `${kind}: PostgreSQL resolved ${deadlocks.length} deadlocks ${deadlocks[0] ?? ''}`)
    }
  } finally {
    await postgres.stop()
  }
}
process.exitCode = wrong.length === 0 ? 0 : 1
