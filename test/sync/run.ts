/**
 * Live queries under random changes, for longer than the test does: `npm run check:sync -- [changes] [seed]`, on the kind
 * that TEST_DATABASE names, else in memory. Ends with 1 where a client's set is not what its search finds.
 */
import { runRandomChanges } from '../support/random-changes.ts'

const [changes = 100_000, seed = 1] = process.argv.slice(2).map(Number)
const began = performance.now()
const { quiet, deltas, resumed, faults } = await runRandomChanges({
  changes,
  seed,
  report: (line) => console.log(line),
})
const seconds = Math.round((performance.now() - began) / 1000)
console.log(`${changes} changes in ${seconds} s: ${quiet} quiet moments, ${deltas} deltas, ${resumed} queries resumed`)
for (const fault of faults) console.log(fault)
process.exit(faults.length === 0 ? 0 : 1)
