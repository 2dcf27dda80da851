/**
 * Runs every test file in a process of its own, two at a time, and closes with `N passed, N failed`. Arguments choose
 * files by a part of their path: `npm test -- server/crud`. Files in test/server run once on every kind of database, but
 * for those that say in a comment why one kind is enough: `// database: sqlite, …`.
 */
import { spawn } from 'node:child_process'
import { chmodSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const FILE_MS = 600_000 // a file that takes longer hangs
const END_MS = 60_000 // so does one that has told its result and is still there: a test that failed left a server behind

const KINDS = ['sqlite', 'memory', 'postgres'] as const

/** One file on one kind of database; no kind where the file chooses itself. */
interface Run {
  readonly file: string
  readonly kind: string | undefined
}

interface Outcome extends Run {
  readonly passed: number
  readonly failed: number
  readonly output: string
  readonly ms: number
}

const root = fileURLToPath(new URL('..', import.meta.url))
/** The files of one run share an initialised PostgreSQL and compiled modules here. */
const shared = mkdtempSync(join(tmpdir(), 'refhir-run-'))
chmodSync(shared, 0o755)
process.on('exit', () => rmSync(shared, { recursive: true, force: true }))
const environment: NodeJS.ProcessEnv = { ...process.env, REFHIR_TEST_RUN: shared, FORCE_COLOR: '0' }
// Every file imports the same modules, and compiling them is a third of a short file's time. Coverage needs them
// compiled in the process that runs them.
if (process.env.NODE_V8_COVERAGE === undefined) environment.NODE_COMPILE_CACHE = join(shared, 'compiled')

const numberAfter = (label: string, output: string): number | undefined => {
  const found = [...output.matchAll(new RegExp(`${label}:\\s+(\\d+)`, 'g'))].at(-1)?.[1]
  return found === undefined ? undefined : Number(found)
}

const runFile = ({ file, kind }: Run): Promise<Outcome> =>
  new Promise((resolve) => {
    const started = performance.now()
    let output = ''
    const child = spawn(process.execPath, [file], {
      cwd: root,
      env: { ...environment, ...(kind && { TEST_DATABASE: kind }) },
    })
    let late = setTimeout(() => child.kill('SIGKILL'), FILE_MS)
    child.stdout.on('data', (chunk) => {
      const hadTold = numberAfter('Total', output) !== undefined
      output += chunk
      if (hadTold || numberAfter('Total', output) === undefined) return
      clearTimeout(late)
      late = setTimeout(() => child.kill('SIGKILL'), END_MS)
    })
    child.stderr.on('data', (chunk) => {
      output += chunk
    })
    child.on('close', (code) => {
      clearTimeout(late)
      const total = numberAfter('Total', output) ?? 0
      const passed = numberAfter('Passed', output) ?? 0
      // A file that ends badly without counting its tests has failed once.
      const failed = Math.max(total - passed, code === 0 && total > 0 ? 0 : 1)
      resolve({ file, kind, passed, failed, output, ms: performance.now() - started })
    })
  })

const wanted = process.argv.slice(2)
const files = globSync('test/**/*.test.ts', { cwd: root })
  .filter((file) => wanted.length === 0 || wanted.some((part) => file.includes(part)))
  .sort()
const runsOf = (file: string): Run[] => {
  if (!file.startsWith(join('test', 'server'))) return [{ file, kind: undefined }]
  const only = /^\/\/ database: (\w+)/m.exec(readFileSync(join(root, file), 'utf8'))?.[1]
  return (only === undefined ? KINDS : [only]).map((kind) => ({ file, kind }))
}
const outcomes: Outcome[] = []
const queue = files.flatMap(runsOf)
const work = async (): Promise<void> => {
  for (let run = queue.shift(); run !== undefined; run = queue.shift()) {
    const outcome = await runFile(run)
    outcomes.push(outcome)
    const seconds = (outcome.ms / 1000).toFixed(1)
    console.log(
      `${outcome.failed === 0 ? 'ok  ' : 'FAIL'} ${run.file}${run.kind ? ` on ${run.kind}` : ''} (${outcome.passed} tests, ${seconds} s)`,
    )
    if (outcome.failed > 0) console.log(outcome.output)
  }
}
await Promise.all(Array.from({ length: Math.min(2, availableParallelism()) }, work))
const sum = (key: 'passed' | 'failed'): number => outcomes.reduce((total, outcome) => total + outcome[key], 0)
if (files.length === 0) console.log('no test file matches')
console.log(`${sum('passed')} passed, ${sum('failed')} failed`)
process.exitCode = sum('failed') > 0 || files.length === 0 ? 1 : 0
