/** A code, a refresh token or a client assertion works once, however many ask at once, and on however many servers. `check:races` asks longer. */
// database: sqlite, and postgres, on which two servers share what is stored
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { postgresKind, sqliteKind } from '../../support/database-kinds.ts'
import { freshForClinic, loginClinic } from '../../support/login-clinic.ts'
import { raceTokens } from '../../support/token-races.ts'

const AT_ONCE = 50
const ROUNDS = 2

for (const [kind, servers] of [
  [sqliteKind, 1],
  [postgresKind, 1],
  [postgresKind, 2],
] as const)
  test(`${AT_ONCE} at once on ${kind.name} with ${servers} of a server`, async () => {
    const fresh = await freshForClinic(kind)
    const all = []
    for (let n = 0; n < servers; n += 1) all.push(await loginClinic({ settings: fresh.settings, together: true }))
    const { codes, refreshes, assertions, survivors, killed, faults } = await raceTokens(all, {
      rounds: ROUNDS,
      at: AT_ONCE,
    })
    assert.equal(codes, Array(ROUNDS).fill(1))
    assert.is(survivors, 0, 'what a code gave ends when it is used again')
    assert.equal(refreshes, Array(ROUNDS).fill(1))
    assert.equal(assertions, Array(ROUNDS).fill(1))
    assert.is(killed, 0, 'refreshes that overlap are no reuse')
    assert.equal(faults, [])
    for (const server of all) await server.stop()
    await fresh.remove()
  })

test.run()
