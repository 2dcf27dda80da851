/** Cases for one kind of database run on it in `npm test`, although that runs most files on one kind only. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { kindsOfFile } from './support/kinds-of-file.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const CONDITION = /if \(chosenKind\.name (===|!==) '(\w+)'\)( return| continue)?/g

/** Conditions of a file whose cases `npm test` runs on no kind. Runs in memory are for `--kinds each`. */
const unmet = (text: string): readonly string[] => {
  const kinds = kindsOfFile(text, undefined)
  return [...text.matchAll(CONDITION)].flatMap(([condition, operator, kind, skips]) => {
    if (kind === 'memory') return []
    const isForThisKind = (operator === '===') === (skips === undefined)
    return kinds.some((one) => (one === kind) === isForThisKind) ? [] : [condition]
  })
}

const GUARDS = {
  skipsOthers: "test('a', () => { if (chosenKind.name !== 'postgres') return })",
  skipsThis: "test('a', () => { if (chosenKind.name === 'sqlite') return })",
  addsForThis: "if (chosenKind.name === 'postgres')\n  test('a', () => undefined)",
  addsForOthers: "if (chosenKind.name !== 'sqlite') {\n  test('a', () => undefined) }",
}

for (const [name, guard] of Object.entries(GUARDS))
  test(`a file with cases for PostgreSQL alone is found where it runs on SQLite (${name})`, () => {
    assert.is(unmet(guard).length, 1)
    assert.equal(unmet(`// npm test: postgres, where servers share a database\n${guard}`), [])
    assert.equal(unmet(`// npm test: sqlite and postgres, which have cases of their own\n${guard}`), [])
  })

test('each file of test/server runs on the kinds that its conditions name', () => {
  const files = globSync('test/server/**/*.test.ts', { cwd: root })
  assert.ok(files.length > 200)
  const found = files.flatMap((file) =>
    unmet(readFileSync(join(root, file), 'utf8')).map((condition) => `${file}: ${condition}`),
  )
  assert.equal(found, [])
})

test.run()
