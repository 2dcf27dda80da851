/** Rate and quota together: what one refuses costs nothing of the other. Spec: Limits. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { watchedDatabase } from '../../support/watched-database.ts'
import { limited } from './limited.ts'

const leftOf = (headers: Record<string, unknown>): number => Number(/r=(\d+)/.exec(String(headers.ratelimit))?.[1])
const PLENTY = { requests_per_second: 1, burst: 50 }

test('a request that the quota refuses gives its units back', async () => {
  const settings = { rate_limit: PLENTY, quota: { requests_per_day: 3 } }
  const { kernel, ask, passing } = await limited({ settings })
  assert.is(await passing(3), 3)
  for (let n = 0; n < 100; n += 1) {
    const { statusCode, body } = await ask('read', { client: 'app' })
    assert.is(statusCode, 429)
    assert.match(body, 'The quota of 3 requests')
  }
  assert.is(leftOf((await ask('read', { client: 'app' })).headers), 46, 'it was told before it was given back')
  await kernel.stop()
})

test('a request that the rate refuses counts for no quota, and asks no database', async () => {
  const { plugin, watch } = watchedDatabase()
  const settings = { rate_limit: { ...PLENTY, burst: 20 }, quota: { requests_per_day: 30, refresh_seconds: 3600 } }
  const { kernel, passing, clock } = await limited({ settings, database: plugin })
  assert.is(await passing(20), 20)
  const { asked } = watch
  assert.is(await passing(50), 0)
  assert.is(watch.asked, asked)
  await clock.advance(20_000)
  assert.is(await passing(20), 10)
  await kernel.stop()
})

test('a quota that cannot be read gives the units back, and lets nobody in', async () => {
  const { plugin, watch } = watchedDatabase()
  const settings = { rate_limit: PLENTY, quota: { requests_per_day: 1000, refresh_seconds: 10 } }
  const { kernel, ask, passing, clock } = await limited({ settings, database: plugin })
  assert.is(await passing(1), 1)
  watch.refuses = true
  await clock.advance(20_000)
  for (let n = 0; n < 100; n += 1) assert.is((await ask('read', { client: 'app' })).statusCode, 500)
  watch.refuses = false
  assert.is(await passing(49), 49)
  await kernel.stop()
})

test.run()
