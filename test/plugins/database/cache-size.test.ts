// database: memory
/** The shares of memory that SQLite may keep pages in. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createMemoryBudget } from '../../../kernel/index.ts'
import { cacheSizesOf } from '../../../plugins/database/sqlite/cache-size.ts'

const MIB = 1024 ** 2

test('pages are kept in shares of memory_bytes', () => {
  assert.equal(cacheSizesOf(createMemoryBudget(512 * MIB)), { writer: 64 * 1024, reader: 16 * 1024, thread: 8 * 1024 })
  assert.equal(cacheSizesOf(createMemoryBudget(256 * MIB)), { writer: 32 * 1024, reader: 8 * 1024, thread: 4 * 1024 })
})

test('they have bounds, whatever there is', () => {
  assert.equal(cacheSizesOf(createMemoryBudget(MIB)), { writer: 8 * 1024, reader: 4 * 1024, thread: 2 * 1024 })
  const many = cacheSizesOf(createMemoryBudget(512 * 1024 * MIB))
  assert.equal(many, { writer: 1024 * 1024, reader: 32 * 1024, thread: 16 * 1024 })
})

test.run()
