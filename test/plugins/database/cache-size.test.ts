// database: memory
/** The share of memory that SQLite may keep pages in. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { cacheSizeKib } from '../../../plugins/database/sqlite/cache-size.ts'

const GIB = 1024 ** 3

test('pages of the file are kept in a 32nd of the memory', () => {
  assert.is(cacheSizeKib(8 * GIB), 256 * 1024)
})

test('in 32 MB where there is little, and never in more than 1 GB', () => {
  assert.is(cacheSizeKib(0.5 * GIB), 32 * 1024)
  assert.is(cacheSizeKib(512 * GIB), 1024 * 1024)
})

test('what the machine has is known', () => {
  assert.ok(cacheSizeKib() >= 32 * 1024)
})

test.run()
