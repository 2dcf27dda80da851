/** Broken requests, the same ones each time, for ten seconds at most; `node test/fuzz/mutate.ts` runs as many as one likes. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { fuzz } from './mutate.ts'

test('broken requests end in refusals: no 5xx, no crash, no line of the log about an error (row 86)', async () => {
  const { requests, statuses, findings } = await fuzz({ seed: 86, requests: 1_500, ms: 10_000 })
  assert.equal(findings, [])
  assert.ok(requests > 100, `${requests} requests`)
  assert.ok((statuses['200'] ?? 0) > 0 && (statuses['400'] ?? 0) > 0)
})

test.run()
