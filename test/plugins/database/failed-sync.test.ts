/** A disk that fails to store a commit: nothing is written after that. `npm run check:cluster -- disk` does it to a process. */
import BetterSqlite from 'better-sqlite3'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createSqliteTransaction } from '../../../plugins/database/sqlite/sqlite-transaction.ts'

const openWith = (code: string) => {
  const handle = new BetterSqlite(':memory:')
  let isFailing = false
  const prepare: typeof handle.prepare = ((text: string) => {
    const statement = handle.prepare(text)
    if (text !== 'COMMIT') return statement
    return {
      run() {
        if (!isFailing) return statement.run()
        throw Object.assign(new Error('disk I/O error'), { code })
      },
    }
  }) as never
  const failing = { prepare, exec: handle.exec.bind(handle), inTransaction: true } as unknown as typeof handle
  return {
    transaction: createSqliteTransaction(failing, () => undefined),
    fail: (is: boolean) => {
      isFailing = is
    },
  }
}
const keyOf = (work: () => void): string => {
  try {
    work()
    return 'done'
  } catch (error) {
    return (error as { key?: string; message: string }).key ?? (error as Error).message
  }
}

test('after a COMMIT that could not be stored no transaction begins', () => {
  const { transaction, fail } = openWith('SQLITE_IOERR_FSYNC')
  transaction.begin()
  transaction.commit()
  transaction.begin()
  fail(true)
  assert.is(keyOf(transaction.commit), 'disk I/O error')
  transaction.rollback()
  fail(false)
  assert.is(keyOf(transaction.begin), 'database/unsynced')
  assert.not.ok(transaction.isSynced)
})

test('after one for which there was no room the next one begins', () => {
  const { transaction, fail } = openWith('SQLITE_FULL')
  transaction.begin()
  fail(true)
  assert.is(keyOf(transaction.commit), 'disk I/O error')
  transaction.rollback()
  fail(false)
  assert.is(keyOf(transaction.begin), 'done')
  assert.ok(transaction.isSynced)
})

test.run()
