// database: memory
/** The share of memory that SQLite may keep pages in. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { cacheKib } from '../../../plugins/database/sqlite/cache-size.ts'

const GIB = 1024 ** 3

test('pages of the file are kept in a 32nd of the memory', () => {
  assert.is(cacheKib(8 * GIB), 256 * 1024)
})

test('in 32 MB where there is little, and never in more than 1 GB', () => {
  assert.is(cacheKib(0.5 * GIB), 32 * 1024)
  assert.is(cacheKib(512 * GIB), 1024 * 1024)
})

test('what the machine has is known', () => {
  assert.ok(cacheKib() >= 32 * 1024)
})

test.run()
