/** Parameters of SQLite queries are written so that binding another value prepares nothing anew. */
import BetterSqlite from 'better-sqlite3'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { withoutPeeking } from '../../../plugins/database/sqlite/without-peeking.ts'

test('leaves text in quotes and what changes data as they are', () => {
  const name = 'SELECT \'?\' AS "what?" FROM t WHERE a = ? LIMIT ? OFFSET ?'
  assert.is(withoutPeeking(name), 'SELECT \'?\' AS "what?" FROM t WHERE a = +? LIMIT (? + 0) OFFSET (? + 0)')
  assert.is(withoutPeeking('INSERT INTO t VALUES (?, ?)'), 'INSERT INTO t VALUES (?, ?)')
  assert.is(withoutPeeking("SELECT 'it''s ?', ?"), "SELECT 'it''s ?', +?")
})

test('finds the same rows whatever is compared', () => {
  const handle = new BetterSqlite(':memory:')
  handle.exec('CREATE TABLE t (n integer, r real, s text, b blob); CREATE INDEX t_n ON t (n, s)')
  const insert = handle.prepare('INSERT INTO t VALUES (?, ?, ?, ?)')
  for (let n = 0; n < 20; n += 1) insert.run(n, n / 2, String(n), Buffer.from([n]))
  const queries: readonly (readonly [string, readonly unknown[]])[] = [
    ['SELECT * FROM t WHERE n = ?', [3]],
    ['SELECT * FROM t WHERE n = ?', ['3']],
    ['SELECT * FROM t WHERE s = ?', [3]],
    ['SELECT * FROM t WHERE s = ?', ['3']],
    ['SELECT * FROM t WHERE r = ?', [1.5]],
    ['SELECT * FROM t WHERE b = ?', [Buffer.from([4])]],
    ['SELECT * FROM t WHERE n IN (?, ?) ORDER BY n DESC LIMIT ?', [3, 5, 1]],
    ['SELECT ? AS one, typeof(?) AS type, coalesce(?, 7) AS given', [1, 'x', null]],
    ['SELECT n FROM t WHERE s >= ? AND s < ? ORDER BY n LIMIT ? OFFSET ?', ['1', '2', 3, 1]],
  ]
  for (const [text, params] of queries)
    assert.equal(handle.prepare(withoutPeeking(text)).all(...params), handle.prepare(text).all(...params), text)
  handle.close()
})

test.run()
