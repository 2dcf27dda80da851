/** The protocol of the writer lease in simulated histories; `npm run check:cluster -- simulation` has many more. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { simulateLease } from '../../simulation/lease-history.ts'
import { LEASE_FAULTS } from '../../simulation/lease-process.ts'

const HISTORIES = 75
const MORE = 1_000 // until a planted fault is found
/** The first history that is tried, where those that find a fault are rare. */
const FROM: Partial<Record<(typeof LEASE_FAULTS)[number], number>> = {
  'takes what has changed': 11,
  'beats in a later epoch': 16,
  'counts from the answer': 158,
  'commits without the fence': 10,
}

test(`over ${HISTORIES} histories never do two servers answer or commit at once, and one does when the faults are over`, async () => {
  const sum = { epochs: 0, commits: 0 }
  for (let seed = 1; seed <= HISTORIES; seed += 1) {
    const { broken, epochs, commits } = await simulateLease(seed)
    assert.equal([...new Set(broken)].slice(0, 5), [], `seed ${seed}`)
    sum.epochs += epochs
    sum.commits += commits
  }
  assert.ok(sum.epochs > 3 * HISTORIES && sum.commits > 100 * HISTORIES, JSON.stringify(sum))
})

for (const planted of LEASE_FAULTS)
  test(`a server that ${planted} is found out`, async () => {
    const from = FROM[planted] ?? 1
    for (let seed = from; seed < from + MORE; seed += 1)
      if ((await simulateLease(seed, planted)).broken.length > 0) return
    assert.unreachable('in no history')
  })

test.run()
