/** The denominator of durable writes writes exactly the rows that were written since the mark. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import BetterSqlite from 'better-sqlite3'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { startSubject } from './process/subject.ts'

const dump = (path: string): unknown[][] => {
  const handle = new BetterSqlite(path, { readonly: true })
  try {
    return ['resource', 'ix_token', 'trail'].map((table) =>
      handle.prepare(`SELECT * FROM ${table}`).safeIntegers().raw().all(),
    )
  } finally {
    handle.close()
  }
}

test('the rows of a round are written again, those with a rid together, the others spread over them', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'refhir-test-'))
  const sourcePath = join(folder, 'source.sqlite')
  const targetPath = join(folder, 'target.sqlite')
  const source = new BetterSqlite(sourcePath)
  const subject = startSubject('raw', { cores: { server: undefined, description: '' } })
  try {
    source.pragma('journal_mode = WAL')
    source.exec(`CREATE TABLE resource (rid integer PRIMARY KEY, body blob);
      CREATE TABLE ix_token (param integer, val integer, rid integer, PRIMARY KEY (param, val, rid)) WITHOUT ROWID;
      CREATE TABLE trail (seq integer PRIMARY KEY, hash text)`)
    const write = (rid: number): void => {
      source.prepare('INSERT INTO resource VALUES (?, ?)').run(rid, Buffer.from(`body ${rid}`))
      for (const param of [1, 2, 3])
        source.prepare('INSERT INTO ix_token VALUES (?, ?, ?)').run(param, 9_007_199_254_740_993n, rid)
      source.prepare('INSERT INTO trail (hash) VALUES (?)').run(`hash ${rid}`)
    }
    write(1)
    await subject.ask('start', { sourcePath, targetPath })
    await subject.ask('mark')
    write(2)
    write(3)
    const { done, rows } = await subject.ask<{ done: number; rows: number }>('replay', { batch: 1 })
    assert.is(done, 2)
    assert.is(rows, 10)
    assert.equal(dump(targetPath), dump(sourcePath))
  } finally {
    await subject.stop()
    source.close()
    rmSync(folder, { recursive: true, force: true })
  }
})

test.run()
