/**
 * Runs the test files, two at a time and one of those that wait, up to six while processors are idle, and closes with
 * `N passed, N failed`.
 * Arguments choose files by a part of their path: `npm test -- server/crud`. Files in test/server run on a SQLite file, or on
 * the kinds of database that they name with the reason: `// npm test: postgres, …`, `// npm test: sqlite and postgres, …`. With
 * `--kinds each`, as in .ci/run, they run once on PostgreSQL and once on a SQLite file, but for those that say why fewer are
 * enough: `// database: sqlite, …` or `// database: sqlite and postgres, …`. `memory` is SQLite without the file, and runs the
 * same code but for what is listed in CONTRIBUTING.md under "Kinds of database in tests". Files that test one of these say
 * `// memory: …`, and run on it with `--kinds each`; with `--kinds all` the others run there, too.
 * Files share processes, whatever their kinds, but for those that say in a comment why they cannot: `// process: its own, …`.
 * Those that wait for most of their time say for what, `// waits: …`, and run beside two others from the start. One that fails
 * among others is run again alone, and that counts.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import {
  FLAGS,
  type Outcome,
  type Run,
  runAlone,
  type SharedProcess,
  startSharedProcess,
} from './support/file-runner.ts'
import { idleCores } from './support/idle-cpu.ts'
import { kindsOfFile } from './support/kinds-of-file.ts'

const MEMORY = '/dev/shm' // where the system has it, a file system in memory
const MEMORY_BYTES = 4 * 1024 ** 3 // free there, so that a run has room for its databases
const CORES = Math.min(2, availableParallelism())
const FEW = 10 // runs of files, for which bundling and compiling ahead take longer than they save
const IDLE = 0.3 // cores that have to be idle before one more file is run beside the others

const {
  values: { kinds },
  positionals: wanted,
} = parseArgs({
  options: { kinds: { type: 'string' } },
  allowPositionals: true,
})
if (kinds !== undefined && kinds !== 'each' && kinds !== 'all') {
  console.error(`--kinds ${kinds}: it can be each or all`)
  process.exit(1)
}

const root = fileURLToPath(new URL('..', import.meta.url))
/** Databases of tests need no disk: no test cuts the power, and waiting for the disk takes a tenth of a run. */
const placeOfRun = (): string => {
  if (process.env.TMPDIR !== undefined || !existsSync(MEMORY)) return tmpdir()
  const { bavail, bsize } = statfsSync(MEMORY)
  return bavail * bsize >= MEMORY_BYTES ? MEMORY : tmpdir()
}

/** The files of one run share an initialised PostgreSQL and compiled modules here, and make their databases here. */
const shared = mkdtempSync(join(placeOfRun(), 'refhir-run-'))
const temporary = join(shared, 't')
mkdirSync(temporary)
for (const folder of [shared, temporary]) chmodSync(folder, 0o755)
process.on('exit', () => rmSync(shared, { recursive: true, force: true }))
const environment: NodeJS.ProcessEnv = {
  ...process.env,
  REFHIR_TEST_RUN: shared,
  TMPDIR: temporary,
  FORCE_COLOR: '0',
}
// Coverage needs modules compiled in the process that runs them.
if (process.env.NODE_V8_COVERAGE === undefined) environment.NODE_COMPILE_CACHE = join(shared, 'compiled')
const options = { root, environment }

interface Planned extends Run {
  readonly isAlone: boolean
  /** True of files that use little of a processor, for much longer than others. */
  readonly waits: boolean
}

const plan = (file: string): Planned[] => {
  const text = readFileSync(join(root, file), 'utf8')
  const isAlone = /^\/\/ process: its own/m.test(text)
  const waits = /^\/\/ waits: /m.test(text)
  if (!file.startsWith(join('test', 'server'))) return [{ file, kind: undefined, isAlone, waits }]
  return kindsOfFile(text, kinds).map((kind) => ({ file, kind, isAlone, waits }))
}

const files = globSync('test/**/*.test.ts', { cwd: root })
  .filter((file) => wanted.length === 0 || wanted.some((part) => file.includes(part)))
  .sort()
const outcomes: Outcome[] = []
const report = (outcome: Outcome | undefined): void => {
  if (outcome === undefined) return
  outcomes.push(outcome)
  const { file, kind, passed, failed, output, ms, cpu } = outcome
  const where = kind === undefined ? '' : ` on ${kind}`
  console.log(
    `${failed === 0 ? 'ok  ' : 'FAIL'} ${file}${where} (${passed} tests, ${(ms / 1000).toFixed(1)} s${cpu === undefined ? '' : `, ${cpu.toFixed(1)} s of CPU`})`,
  )
  if (failed > 0) console.log(output)
}

// Files on PostgreSQL follow each other, so that few processes start one. Those in memory are short, and come last, so that the
// workers end together.
const inOrder = (planned: readonly Planned[]): Planned[] => [
  ...planned.filter(({ isAlone }) => isAlone),
  ...['postgres', undefined, 'sqlite', 'memory'].flatMap((of) =>
    planned.filter(({ isAlone, kind }) => !isAlone && kind === of),
  ),
]
const planned = files.flatMap(plan)
const queue = inOrder(planned.filter(({ waits }) => !waits))
const waiting = inOrder(planned.filter(({ waits }) => waits))

/** Gives the next file, or undefined where there are no more. */
type Take = () => Promise<Planned | undefined>

/** Runs files until `take` gives none. */
const work = async (take: Take): Promise<void> => {
  let current: SharedProcess | undefined
  const endings: Promise<void>[] = []
  const leave = (): void => {
    if (current !== undefined) endings.push(current.end().then(report))
    current = undefined
  }
  while (true) {
    const run = await take()
    if (run === undefined) break
    if (run.isAlone) {
      report(await runAlone(run, options))
      continue
    }
    if (current !== undefined && !current.accepts(run)) leave()
    current ??= startSharedProcess(options)
    const outcome = await current.run(run)
    if (outcome.failed === 0) {
      report(outcome)
      continue
    }
    // Others ran in this process before it: what counts is what it does alone.
    console.log(`${outcome.failed} failed in ${run.file} after other files; it runs again alone\n${outcome.output}`)
    leave()
    report(await runAlone(run, options))
  }
  leave()
  await Promise.all(endings)
}

/** Runs a program of test/support that saves the test files time, with the given arguments of Node. */
const prepare = async (program: string, args: readonly string[] = []): Promise<void> => {
  const child = spawn(process.execPath, [...args, join('test', 'support', program)], {
    cwd: root,
    env: environment,
    stdio: 'inherit',
  })
  const [status] = await once(child, 'exit')
  if (status !== 0) console.log(`${program} failed, so the tests take longer`)
}
if (planned.length > FEW && environment.NODE_COMPILE_CACHE !== undefined)
  await Promise.all([prepare('bundle-programs.ts'), prepare('compile-ahead.ts', FLAGS)])
const next: Take = async () => queue.shift() ?? waiting.shift()
let looking: ReturnType<Take> = Promise.resolve(undefined)
/** One looks at a time, so that two do not take a file each for the same idle core. */
const nextWhileIdle: Take = () => {
  looking = looking.then(async () => {
    while (queue.length > 0 && (await idleCores()) < IDLE);
    return next()
  })
  return looking
}
const nextOfWaiting: Take = async () => waiting.shift() ?? nextWhileIdle()
// Not more: a server that gets no processor for four seconds loses its lease, and answers 503.
const further = planned.length > CORES ? [nextOfWaiting, nextWhileIdle, nextWhileIdle, nextWhileIdle] : []
await Promise.all([...Array.from({ length: CORES }, () => next), ...further].map(work))
const sum = (key: 'passed' | 'failed'): number => outcomes.reduce((total, outcome) => total + outcome[key], 0)
if (files.length === 0) console.log('no test file matches')
console.log(`${sum('passed')} passed, ${sum('failed')} failed`)
process.exitCode = sum('failed') > 0 || files.length === 0 ? 1 : 0
