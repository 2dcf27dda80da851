/**
 * Codes, refresh tokens and client assertions used by many at once, for longer than the test does: `npm run check:races -- [rounds] [at once]`,
 * on SQLite, on PostgreSQL, and on two and three servers of one PostgreSQL. None may work twice.
 */
import { postgresKind, sqliteKind } from '../support/database-kinds.ts'
import { loginClinic } from '../support/login-clinic.ts'
import { raceTokens } from '../support/token-races.ts'

const [rounds = 200, at = 50] = process.argv.slice(2).map(Number)
let wrong = 0
for (const [kind, servers] of [
  [sqliteKind, 1],
  [postgresKind, 1],
  [postgresKind, 2],
  [postgresKind, 3],
] as const) {
  const fresh = await kind.fresh()
  const all = []
  for (let n = 0; n < servers; n += 1) all.push(await loginClinic({ settings: fresh.settings, together: true }))
  const began = performance.now()
  const { codes, refreshes, assertions, survivors, killed, faults } = await raceTokens(all, { rounds, at })
  const wins = [...codes, ...refreshes, ...assertions]
  const twice = wins.filter((successes) => successes > 1).length
  const never = wins.filter((successes) => successes === 0).length
  wrong += twice + never + survivors + killed + faults.length
  const seconds = Math.round((performance.now() - began) / 1000)
  console.log(
    `${kind.name}, ${servers} of a server: ${rounds} rounds of ${at} in ${seconds} s; ${twice} used twice, ${never} never, ` +
      `${survivors} tokens lived on, ${killed} families of refreshes ended, ${faults.length} other answers`,
  )
  for (const server of all) await server.stop()
  await fresh.remove()
}
process.exit(wrong === 0 ? 0 : 1)
