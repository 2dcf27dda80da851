/** `npm test` itself: it ends, counts what it ran, and its exit code says whether all of it passed. */
// process: its own, because it starts runs of tests
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { startSharedProcess } from './support/file-runner.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const RUNNER = [
  'package.json',
  'test/run.ts',
  ...[
    'file-runner.ts',
    'idle-cpu.ts',
    'kept-memory.ts',
    'kinds-of-file.ts',
    'report-cpu.ts',
    'resolve-sources.ts',
    'test-process.ts',
    'tree-cpu.ts',
  ].map((name) => `test/support/${name}`),
]

const IMPORTS = "import { test } from 'uvu'\nimport * as assert from 'uvu/assert'\n"

/** Makes a tree with these test files, path → text, in a folder of its own: other tests read all files of this one. */
const inTree = async <T>(files: Readonly<Record<string, string>>, work: (folder: string) => Promise<T>): Promise<T> => {
  const folder = mkdtempSync(join(tmpdir(), 'refhir-run-test-'))
  try {
    for (const file of RUNNER) cpSync(join(root, file), join(folder, file))
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'), 'junction')
    mkdirSync(join(folder, 'test/server'))
    for (const [path, text] of Object.entries(files))
      writeFileSync(join(folder, path), `${IMPORTS}${text}\ntest.run()\n`)
    return await work(folder)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const runFiles = (
  files: Readonly<Record<string, string>>,
  args: readonly string[] = [],
): Promise<{ readonly code: unknown; readonly output: string }> =>
  inTree(
    files,
    (folder) =>
      new Promise((resolve) => {
        execFile(process.execPath, ['test/run.ts', ...args], { cwd: folder }, (error, stdout, stderr) =>
          resolve({ code: error?.code ?? 0, output: stdout + stderr }),
        )
      }),
  )

const runTests = (assertion: string, ...args: readonly string[]) =>
  runFiles({ 'test/planted.test.ts': `test('a', () => ${assertion})` }, args)

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

const ON_KINDS = "test('a', () => assert.ok(process.env.TEST_DATABASE))"
const onKinds = {
  'test/server/plain.test.ts': ON_KINDS,
  'test/server/meeting.test.ts': `// npm test: postgres, where they overlap\n// memory: reads wait there\n${ON_KINDS}`,
  'test/server/different.test.ts': `// npm test: sqlite and postgres, whose statements differ\n${ON_KINDS}`,
  'test/server/outliving.test.ts': `// database: sqlite and postgres, which outlive the process\n${ON_KINDS}`,
  'test/server/file.test.ts': `// database: sqlite, because it is a file\n${ON_KINDS}`,
}
const planned = async (...args: readonly string[]): Promise<readonly string[]> => {
  const { output } = await runFiles(onKinds, args)
  assert.not.match(output, /runs again alone/)
  return [...output.matchAll(/^ok {3}test\/server\/(\S+)\.test\.ts on (\w+)/gm)]
    .map(([, name, kind]) => `${name} ${kind}`)
    .sort()
}

test('files of the server run on SQLite, or on the kinds that they name', async () => {
  assert.equal(await planned(), [
    'different postgres',
    'different sqlite',
    'file sqlite',
    'meeting postgres',
    'outliving sqlite',
    'plain sqlite',
  ])
})

test('--kinds each runs them on PostgreSQL and SQLite, in memory where they say why, and on fewer where they say so', async () => {
  assert.equal(await planned('--kinds', 'each'), [
    'different postgres',
    'different sqlite',
    'file sqlite',
    'meeting memory',
    'meeting postgres',
    'meeting sqlite',
    'outliving postgres',
    'outliving sqlite',
    'plain postgres',
    'plain sqlite',
  ])
})

test('--kinds all runs in memory what could', async () => {
  assert.equal(await planned('--kinds', 'all', 'plain', 'file'), [
    'file sqlite',
    'plain memory',
    'plain postgres',
    'plain sqlite',
  ])
})

const MOST_WORKERS = 6
// A worker that is left runs one of the others after this one; until that has run, the others keep the other workers.
const first = `import { writeFileSync } from 'node:fs'
test('a', () => {
  assert.is(process.env.TEST_DATABASE, 'postgres')
  writeFileSync('first', String(process.pid))
})`
const other = `import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
test('a', async () => {
  assert.is(process.env.TEST_DATABASE, 'sqlite')
  const isSame = () => existsSync('first') && readFileSync('first', 'utf8') === String(process.pid)
  if (isSame()) writeFileSync('same', '')
  for (let waited = 0; waited < 10_000 && !existsSync('same'); waited += 20) await setTimeout(20)
  assert.ok(existsSync('same'))
})`

test('files on two kinds of database share a process, and each finds its own', async () => {
  const others = Array.from({ length: MOST_WORKERS }, (_, at) => [`test/server/other${at}.test.ts`, other])
  const { code, output } = await runFiles({
    'test/server/first.test.ts': `// npm test: postgres, which is another kind\n${first}`,
    ...Object.fromEntries(others),
  })
  assert.not.match(output, /runs again alone/)
  assert.match(output, /\n7 passed, 0 failed\n$/)
  assert.is(code, 0, output)
})

const finds = (kind: string | undefined): string => `test('a', () => assert.is(process.env.TEST_DATABASE, ${kind}))`

test('a process runs a file for the kind that was given with it, and takes none for a second kind', async () => {
  const files = {
    'test/one.test.ts': finds("'postgres'"),
    'test/two.test.ts': finds("'sqlite'"),
    'test/three.test.ts': finds('undefined'),
  }
  await inTree(files, async (folder) => {
    const { TEST_DATABASE: _kind, ...environment } = process.env
    const shared = startSharedProcess({ root: folder, environment })
    const one = { file: 'test/one.test.ts', kind: 'postgres' }
    for (const run of [
      one,
      { file: 'test/two.test.ts', kind: 'sqlite' },
      { file: 'test/three.test.ts', kind: undefined },
    ]) {
      assert.ok(shared.accepts(run))
      const { passed, failed, output } = await shared.run(run)
      assert.equal([passed, failed], [1, 0], output)
    }
    assert.not.ok(shared.accepts({ ...one, kind: 'sqlite' }))
    assert.ok(shared.accepts({ ...one, file: 'test/four.test.ts' }))
    assert.is(await shared.end(), undefined)
  })
})

test('another word behind --kinds is refused', async () => {
  const { code, output } = await runTests('assert.ok(true)', '--kinds', 'some')
  assert.is(code, 1)
  assert.match(output, /--kinds some: it can be each or all/)
})

test.run()
