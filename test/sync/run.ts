/**
 * Live queries under random changes, for longer than the tests do. `npm run check:sync -- [changes] [seed]` runs one server on the
 * kind that TEST_DATABASE names, else in memory; connections are cut. `npm run check:sync -- kills [kills] [seed]` runs two on
 * PostgreSQL, and kills the one that writes. Ends with 1 where a client's set is not what its search finds.
 */
import { runRandomChanges } from '../support/random-changes.ts'
import { runKilledServers } from './killed-servers.ts'

const report = (line: string): void => console.log(line)
const isKills = process.argv[2] === 'kills'
const [count = isKills ? 50 : 100_000, seed = 1] = process.argv.slice(isKills ? 3 : 2, isKills ? 5 : 4).map(Number)
const began = performance.now()
const seconds = (): number => Math.round((performance.now() - began) / 1000)

const changesOnly = async (): Promise<readonly string[]> => {
  const { quiet, deltas, resumed, faults } = await runRandomChanges({ changes: count, seed, report })
  report(`${count} changes in ${seconds()} s: ${quiet} quiet moments, ${deltas} deltas, ${resumed} queries resumed`)
  return faults
}
const withKills = async (): Promise<readonly string[]> => {
  const { kills, changes, quiet, resumed, reset, faults } = await runKilledServers(count, seed, report)
  report(
    `${kills} kills and ${changes} changes in ${seconds()} s: ${quiet} quiet moments, ${resumed} queries resumed, ${reset} reset`,
  )
  return faults
}
const faults = isKills ? await withKills() : await changesOnly()
for (const fault of faults) report(fault)
process.exit(faults.length === 0 ? 0 : 1)
