/** The checks that `npm run check:cluster -- fences` takes out are where it looks for them. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { FENCES } from './planted-fences.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

test('each check stands in its file once', () => {
  const missing = FENCES.filter(({ file, check }) => readFileSync(`${root}/${file}`, 'utf8').split(check).length !== 2)
  assert.equal(
    missing.map(({ name, file }) => `${name}: ${file}`),
    [],
  )
})

test('no two of them have one name, and each takes something out', () => {
  assert.is(new Set(FENCES.map(({ name }) => name)).size, FENCES.length)
  for (const { name, check, planted } of FENCES) assert.is.not(check, planted, name)
})

test.run()
