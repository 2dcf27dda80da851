/** The write-ahead log of SQLite: moved beside the writing, and not growing with it. */
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createKernel, definePlugin } from '../../../kernel/index.ts'
import database from '../../../plugins/database/index.ts'
import { Database, sql } from '../../../plugins/database/service.ts'

const notes = definePlugin({
  name: 'notes',
  needs: { database: Database },
  migrations: [
    { name: 'notes/0001-note', sql: ['CREATE TABLE note (id integer PRIMARY KEY, text varchar(200) NOT NULL)'] },
  ],
  setup: () => undefined,
})
const BATCH = 5_000 // commits, more than lie between two checkpoints
const MAX_FRAMES = 60_000 // a log that grew until then grows for ever

const insert = sql('test.insert', 'INSERT INTO note (id, text) VALUES (?, ?)')
const count = sql('test.count', 'SELECT count(*) AS n FROM note')

test('the log starts over while writing goes on, instead of growing with it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'refhir-test-'))
  const path = join(folder, 'log.sqlite')
  const settings = { database: { kind: 'sqlite', sqlite_path: path } }
  const kernel = await createKernel({ plugins: [database, notes], settings, log: { level: 'silent' } })
  await kernel.start()
  try {
    const db = kernel.get(Database)
    // One commit each: every one adds at least two pages to the log.
    const write = async (first: number, most: number): Promise<void> => {
      for (let id = first; id < first + most; id += 1)
        await db.transact((transaction) => transaction.run(insert, [id, 'x'.repeat(100)]))
    }
    const logBytes = (): number => statSync(`${path}-wal`).size
    let written = 0
    let before = 0
    do {
      before = logBytes()
      await write(written, BATCH)
      written += BATCH
    } while (logBytes() > before && written < MAX_FRAMES)
    assert.is(logBytes(), before, `the log still grew after ${written} commits`)
    assert.is(db.status().commits.groups, written)
    assert.is((await db.get<{ n: number }>(count, []))?.n, written)
  } finally {
    await kernel.stop()
    rmSync(folder, { recursive: true, force: true })
  }
})

test.run()
