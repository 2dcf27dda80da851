/**
 * Runs the load of clients.ts against the server as it is shipped, in a process of its own, on SQLite and on PostgreSQL:
 * `npm run check:contention -- [seconds] [clients] [patients] [seed]`. No answer may be a 5xx or take two seconds.
 */
import { createPlace, startHouse } from '../bench/house.ts'
import { startPostgres } from '../support/postgres.ts'
import { runLoad, type Send } from './clients.ts'

const LONGEST_MS = 2_000

const [seconds = 30, clients = 40, patients = 12, seed = 1] = process.argv.slice(2).map(Number)
const wrong: string[] = []
const expect = (isSo: boolean, sentence: string): void => {
  console.log(`${isSo ? 'ok   ' : 'WRONG'} ${sentence}`)
  if (!isSo) wrong.push(sentence)
}

const check = async (kind: string, database: Readonly<Record<string, unknown>>): Promise<void> => {
  const place = createPlace()
  const settings = { database, conformance: { update_as_create: true } }
  const house = await startHouse({ cores: { server: undefined, description: '' } }, place, { settings })
  try {
    const send: Send = async ({ url, ...request }) => {
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
    await house.stop()
    place.remove()
  }
}

await check('sqlite', { kind: 'sqlite' })
const postgres = await startPostgres({ settings: { fsync: 'on' } })
try {
  await postgres.createDatabase('contention')
  await check('postgres', { kind: 'postgres', postgres_url: postgres.url(undefined, 'contention') })
} finally {
  await postgres.stop()
}
process.exitCode = wrong.length === 0 ? 0 : 1
