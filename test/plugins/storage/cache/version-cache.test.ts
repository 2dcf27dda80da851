/** What is kept in memory: one version by its number for ever, and by id only what is current. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createVersionCache } from '../../../../plugins/storage/cache/version-cache.ts'
import { StoredVersion } from '../../../../plugins/storage/version.ts'

const version = (rid: number, ver: number, bytes = 10): StoredVersion =>
  new StoredVersion('Patient', { rid, type: 1, id: `p${rid}`, ver, upd: ver, flags: 0, body: Buffer.alloc(bytes) })

test('keeps what comes a second time', () => {
  const cache = createVersionCache(100_000)
  cache.putVersion(version(1, 1))
  assert.is(cache.getVersion(1, 1), undefined)
  const again = version(1, 1)
  cache.putVersion(again)
  assert.is(cache.getVersion(1, 1), again)
})

test('finds a version by its own number only', () => {
  const cache = createVersionCache(100_000)
  for (let n = 0; n < 2; n += 1) cache.putVersion(version(1, 2))
  assert.is(cache.getVersion(1, 1), undefined)
  assert.is(cache.getVersion(1, 3), undefined)
  assert.is(cache.getVersion(1, 2)?.version, 2)
})

test('finds by id only what is known to be current', () => {
  const cache = createVersionCache(100_000)
  for (let n = 0; n < 2; n += 1) cache.putVersion(version(1, 1))
  assert.is(cache.get('Patient', 'p1'), undefined)
  cache.offer(version(1, 1))
  assert.is(cache.get('Patient', 'p1')?.version, 1)
  cache.replace(version(1, 2))
  assert.is(cache.get('Patient', 'p1')?.version, 2)
  assert.is(cache.getVersion(1, 1), undefined)
})

test('an older version that was read late takes nothing out', () => {
  const cache = createVersionCache(100_000)
  for (let n = 0; n < 2; n += 1) cache.offer(version(1, 2))
  cache.putVersion(version(1, 1))
  assert.is(cache.get('Patient', 'p1')?.version, 2)
  assert.is(cache.getVersion(1, 2)?.version, 2)
})

test('a newer one that was found before its commit was told takes the older one out', () => {
  const cache = createVersionCache(100_000)
  for (let n = 0; n < 2; n += 1) cache.offer(version(1, 1))
  cache.putVersion(version(1, 2))
  assert.is(cache.get('Patient', 'p1'), undefined)
  assert.is(cache.getVersion(1, 2)?.version, 2)
})

test('what is pushed out is found by nobody', () => {
  const cache = createVersionCache(2_000)
  for (let n = 0; n < 2; n += 1) cache.offer(version(1, 1, 500))
  for (let n = 0; n < 2; n += 1) for (const rid of [2, 3, 4]) cache.offer(version(rid, 1, 500))
  assert.is(cache.get('Patient', 'p1'), undefined)
  assert.is(cache.getVersion(1, 1), undefined)
})

test.run()
