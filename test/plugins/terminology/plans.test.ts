/**
 * SQLite has no statistics of the index, and then takes an index by its columns alone. Each step of the statements that are
 * asked often has to use more of an index than the system, which for a code system of 100,000 concepts means all of them.
 */
import BetterSqlite from 'better-sqlite3'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { Sql } from '../../../plugins/database/service.ts'
import * as statements from '../../../plugins/terminology/indexed/statements.ts'
import { insertEdges, terminologyMigrations } from '../../../plugins/terminology/indexed/tables.ts'

const OFTEN: readonly Sql[] = [
  ...[statements.readConcept, statements.readConcepts, statements.readPlaces],
  ...[statements.readParentCodes, statements.readChildCodes, statements.readParentPlaces],
  ...[statements.selectBelow, statements.selectAbove, statements.readBelow, statements.readAbove, statements.isAbove],
  ...[statements.selectByProperty, statements.PROPERTY_VALUES.exists, insertEdges],
]

test('statements that are asked often go by more than the code system', () => {
  const handle = new BetterSqlite(':memory:')
  for (const text of terminologyMigrations.flatMap((one) => one.sql as readonly string[])) handle.exec(text)
  const steps = (text: string): readonly string[] => {
    const params = Array.from({ length: text.split('?').length - 1 }, () => '[]')
    return (handle.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...params) as { detail: string }[]).map(
      (one) => one.detail,
    )
  }
  const isCoarse = (step: string): boolean => /\(system=\?\)|^SCAN tx_|^SCAN [cdepgo]$/.test(step)
  for (const { name, sqlite } of OFTEN) assert.equal(steps(sqlite).filter(isCoarse), [], name)
  assert.is.not(steps('SELECT place FROM tx_concept WHERE system = ? AND inactive = 1').filter(isCoarse).length, 0)
  handle.close()
})

test.run()
