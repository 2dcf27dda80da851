/** `npm test` itself: it ends, counts what it ran, and its exit code says whether all of it passed. */
// process: its own, because it starts runs of tests
import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { test } from 'uvu'
import * as assert from 'uvu/assert'

const root = fileURLToPath(new URL('..', import.meta.url))
const RUNNER = [
  'package.json',
  'test/run.ts',
  ...['file-runner.ts', 'report-cpu.ts', 'test-process.ts', 'tree-cpu.ts'].map((name) => `test/support/${name}`),
]

/** Runs a tree that has one test, in a folder of its own: other tests read all files of this one. */
const runTests = async (assertion: string, part = ''): Promise<{ readonly code: unknown; readonly output: string }> => {
  const folder = mkdtempSync(join(tmpdir(), 'refhir-run-test-'))
  try {
    for (const file of RUNNER) cpSync(join(root, file), join(folder, file))
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'), 'junction')
    const imports = "import { test } from 'uvu'\nimport * as assert from 'uvu/assert'\n"
    writeFileSync(join(folder, 'test/planted.test.ts'), `${imports}test('a', () => ${assertion})\ntest.run()\n`)
    return await new Promise((resolve) => {
      execFile(
        process.execPath,
        ['test/run.ts', ...(part === '' ? [] : [part])],
        { cwd: folder },
        (error, stdout, stderr) => resolve({ code: error?.code ?? 0, output: stdout + stderr }),
      )
    })
  } finally {
    rmSync(folder, { recursive: true })
  }
}

test('a file that passes in a shared process is counted, and the code is 0', async () => {
  const { code, output } = await runTests('assert.ok(true)')
  assert.match(output, /\n1 passed, 0 failed\n$/)
  assert.is(code, 0, output)
})

test('a file that fails runs again alone, and the code is 1', async () => {
  const { code, output } = await runTests('assert.ok(false)')
  assert.match(output, /it runs again alone/)
  assert.match(output, /\n0 passed, 1 failed\n$/)
  assert.is(code, 1, output)
})

test('a part of no path is a failure', async () => {
  const { code, output } = await runTests('assert.ok(true)', 'nothing-is-called-so')
  assert.is(output, 'no test file matches\n0 passed, 0 failed\n')
  assert.is(code, 1)
})

test.run()
