/** A client that folds deltas has what the search finds at every quiet moment: `npm run check:sync` does it for longer. */
// npm test: postgres, where transactions overlap
// memory: reads wait there while a transaction is open
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { runRandomChanges } from '../../support/random-changes.ts'

test('random changes, Bundles, deletions, rulings and resumes', async () => {
  const { quiet, deltas, resumed, faults } = await runRandomChanges({ changes: 150, seed: 11 })
  assert.equal(faults, [])
  assert.ok(quiet >= 5 && deltas > 100 && resumed > 0, `${quiet} ${deltas} ${resumed}`)
})

test.run()
