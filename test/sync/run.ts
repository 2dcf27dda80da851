/**
 * Live queries, for longer than the tests do: `npm run check:sync -- [name] [how much] [seed]`. Ends with 1 where something was
 * wrong.
 * `changes`, which needs no name: so many random changes (100,000) on one server on the kind that TEST_DATABASE names, else in
 * memory; connections are cut. At quiet moments the set of each client has to be what its search finds.
 * `kills`: the same with two servers on PostgreSQL, of which the one that writes is killed so many times (50).
 * `latency`: from COMMIT to the frame at the client, over so many seconds (20); on PostgreSQL with a replica, and on SQLite.
 * `connections`: what each of so many idle connections takes (4,000), beside those of a bare server.
 */
import { runRandomChanges } from '../support/random-changes.ts'
import { checkIdleConnections } from './idle-connections.ts'
import { runKilledServers } from './killed-servers.ts'
import { checkLatency } from './latency.ts'

/** Resolves with a sentence for each thing that was wrong. */
type Check = (much: number, seed: number) => Promise<readonly string[]>

const report = (line: string): void => console.log(line)
const began = performance.now()
const seconds = (): number => Math.round((performance.now() - began) / 1000)

const changes: Check = async (count, seed) => {
  const { quiet, deltas, resumed, faults } = await runRandomChanges({ changes: count, seed, report })
  report(`${count} changes in ${seconds()} s: ${quiet} quiet moments, ${deltas} deltas, ${resumed} queries resumed`)
  return faults
}
const withKills: Check = async (count, seed) => {
  const { kills, changes: done, quiet, resumed, reset, faults } = await runKilledServers(count, seed, report)
  report(
    `${kills} kills and ${done} changes in ${seconds()} s: ${quiet} quiet moments, ${resumed} queries resumed, ${reset} reset`,
  )
  return faults
}
const CHECKS: Readonly<Record<string, { readonly much: number; readonly check: Check }>> = {
  changes: { much: 100_000, check: changes },
  kills: { much: 50, check: withKills },
  latency: { much: 20, check: (much) => checkLatency(much, report) },
  connections: { much: 4_000, check: (much) => checkIdleConnections(much, report) },
}

const given = process.argv.slice(2)
const isNamed = given[0] !== undefined && !/^\d/.test(given[0])
const [name, much, seed = '1'] = isNamed ? given : ['changes', ...given]
const chosen = CHECKS[name as string]
if (chosen === undefined) {
  report(`no check is called ${name}; there are ${Object.keys(CHECKS).join(', ')}`)
  process.exit(1)
}
const faults = await chosen.check(much === undefined ? chosen.much : Number(much), Number(seed))
for (const fault of faults) report(fault)
process.exit(faults.length === 0 ? 0 : 1)
