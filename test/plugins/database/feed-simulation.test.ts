/** The feed of changes in simulated histories; `npm run check:cluster -- simulation` has many more. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { simulateFeed } from '../../simulation/feed-history.ts'
import { FEED_FAULTS, type FeedFault } from '../../simulation/feed-keeper.ts'

const HISTORIES = 25
const MORE = 400 // until a planted fault is found
/** The first history that is tried, where those that find a fault are rare. */
const FROM: Partial<Record<FeedFault, number>> = {
  'announces early': 193,
  'follows what is not on disk': 38,
  'compares no terms': 1270,
}

test(`over ${HISTORIES} histories nothing published is lost, no gap is missed, and no token is read too old`, async () => {
  const sum = { gaps: 0, tokens: 0, acknowledged: 0 }
  for (let seed = 1; seed <= HISTORIES; seed += 1) {
    const { broken, ...counts } = await simulateFeed(seed)
    assert.equal([...new Set(broken)].slice(0, 5), [], `seed ${seed}`)
    for (const name of ['gaps', 'tokens', 'acknowledged'] as const) sum[name] += counts[name]
  }
  assert.ok(
    sum.acknowledged > 100 * HISTORIES && sum.tokens > 20 * HISTORIES && sum.gaps > 5 * HISTORIES,
    JSON.stringify(sum),
  )
})

for (const planted of FEED_FAULTS)
  test(`a server that ${planted} is found out`, async () => {
    const from = FROM[planted] ?? 1
    for (let seed = from; seed < from + MORE; seed += 1)
      if ((await simulateFeed(seed, planted)).broken.length > 0) return
    assert.unreachable('in no history')
  })

test.run()
