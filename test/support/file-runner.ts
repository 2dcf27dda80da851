/** Runs test files in processes: a single file in its own process, or many one after the other in a shared one. */
import { type ChildProcess, spawn } from 'node:child_process'
import { totalmem } from 'node:os'
import { fileURLToPath } from 'node:url'
import { keptMemory } from './kept-memory.ts'

const FILE_MS = 600_000 // milliseconds; a file that takes longer is killed
// milliseconds until a process that has reported its results is killed, because a test left something open
const END_MS = 60_000
const MAX_FILES = 40 // in one process, to limit the memory that files leave allocated
const TEST_PROCESS = fileURLToPath(new URL('./test-process.ts', import.meta.url))
const REPORT_CPU = new URL('./report-cpu.ts', import.meta.url).href
const END_OF_FILE = '\u0004'
const RESOLVE_SOURCES = new URL('./resolve-sources.ts', import.meta.url).href
// V8 collects less often where the machine has memory for it: tests make many servers, and collecting the young generation would
// take a tenth of their time, marking the old one a twentieth. Processes take up to 1.3 GB, and up to six run at once.
const HEAP =
  totalmem() >= 16 * 1024 ** 3
    ? ['--max-semi-space-size=128', '--min-semi-space-size=64', '--initial-old-space-size=1024']
    : ['--max-semi-space-size=32', '--min-semi-space-size=16']
// V8 compiles a function with TurboFan after 3,000 calls by default. That took a tenth of the time of tests, and tests call few
// functions often enough to get the time back. Without lazy compilation V8 compiles functions together with their module, so the
// compile cache holds them and further processes do not compile them again.
const COMPILER = [
  '--no-lazy',
  ...(Number.parseInt(process.versions.node, 10) >= 24 ? ['--invocation-count-for-turbofan=40000'] : []),
]
/**
 * Arguments of Node for processes of tests. V8 rejects what was compiled with other options, so what fills the compile cache needs
 * them, too.
 */
export const FLAGS = [...HEAP, ...COMPILER, '--import', RESOLVE_SOURCES]

/** One run of a file on one kind of database; `kind` is undefined where the file chooses itself. */
export interface Run {
  readonly file: string
  readonly kind: string | undefined
}

export interface Outcome extends Run {
  readonly passed: number
  readonly failed: number
  readonly output: string
  readonly ms: number
  /** Seconds of CPU time, with those of the processes it started; undefined where that is not known. */
  readonly cpu: number | undefined
}

export interface RunnerOptions {
  /** Folder to which paths of files are relative. */
  readonly root: string
  readonly environment: NodeJS.ProcessEnv
}

const numberAfter = (label: string, output: string): number | undefined => {
  const found = [...output.matchAll(new RegExp(`${label}:\\s+(\\d+(\\.\\d+)?)`, 'g'))].at(-1)?.[1]
  return found === undefined ? undefined : Number(found)
}

/** A file that fails without a count of its tests counts as one failure. */
const outcomeOf = (run: Run, output: string, endedWell: boolean, started: number): Outcome => {
  const total = numberAfter('Total', output) ?? 0
  const passed = numberAfter('Passed', output) ?? 0
  const failed = Math.max(total - passed, endedWell && total > 0 ? 0 : 1)
  const cpu = numberAfter('CPU', output)
  return { ...run, passed, failed, output, ms: performance.now() - started, cpu }
}

const environmentOf = ({ environment }: RunnerOptions, kind: string | undefined): NodeJS.ProcessEnv => ({
  ...environment,
  ...keptMemory,
  ...(kind && { TEST_DATABASE: kind }),
})

/** Runs a file in a process of its own: for files that change their process, or start processes themselves. */
export const runAlone = (run: Run, options: RunnerOptions): Promise<Outcome> =>
  new Promise((resolve) => {
    const started = performance.now()
    let output = ''
    const child = spawn(process.execPath, [...FLAGS, '--import', REPORT_CPU, run.file], {
      cwd: options.root,
      env: environmentOf(options, run.kind),
    })
    let late = setTimeout(() => child.kill('SIGKILL'), FILE_MS)
    child.stdout.on('data', (chunk) => {
      const hadCounted = numberAfter('Total', output) !== undefined
      output += chunk
      if (hadCounted || numberAfter('Total', output) === undefined) return
      clearTimeout(late)
      late = setTimeout(() => child.kill('SIGKILL'), END_MS)
    })
    child.stderr.on('data', (chunk) => {
      output += chunk
    })
    child.on('close', (code) => {
      clearTimeout(late)
      resolve(outcomeOf(run, output, code === 0, started))
    })
  })

/** A process that runs one file after the other, each on its own kind of database. */
export interface SharedProcess {
  /**
   * False after a failure, whose leftovers must not affect other files, after MAX_FILES, and for a file that has run there on
   * another kind: importing it once more would do nothing.
   */
  accepts(run: Run): boolean
  run(run: Run): Promise<Outcome>
  /**
   * Waits for the process to end by itself. Returns a failed outcome when something keeps it open, or it ends with an
   * error.
   */
  end(): Promise<Outcome | undefined>
}

export const startSharedProcess = (options: RunnerOptions): SharedProcess => {
  const child: ChildProcess = spawn(process.execPath, [...FLAGS, TEST_PROCESS], {
    cwd: options.root,
    env: environmentOf(options, undefined),
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  const runs: Run[] = []
  let output = ''
  let hasFailed = false
  let finish: ((endedWell: boolean) => void) | undefined
  // Not `close`: it does not come where this side has closed the channel.
  const ended = Promise.all([
    new Promise<number | null>((resolve) => child.on('exit', resolve)),
    ...[child.stdout, child.stderr].map((stream) => new Promise((resolve) => stream?.on('close', resolve))),
  ]).then(([code]) => code)
  void ended.then(() => finish?.(false))
  child.stdout?.on('data', (chunk) => {
    output += chunk
    if (output.includes(END_OF_FILE)) finish?.(true)
  })
  child.stderr?.on('data', (chunk) => {
    output += chunk
  })

  return {
    accepts: ({ file }) => !hasFailed && runs.length < MAX_FILES && runs.every((one) => one.file !== file),
    async run(run) {
      const started = performance.now()
      output = ''
      runs.push(run)
      const late = setTimeout(() => child.kill('SIGKILL'), FILE_MS)
      const endedWell = await new Promise<boolean>((resolve) => {
        finish = resolve
        child.send({ file: run.file, kind: run.kind })
      })
      clearTimeout(late)
      const outcome = outcomeOf(run, output.replace(END_OF_FILE, ''), endedWell, started)
      hasFailed = outcome.failed > 0
      return outcome
    },
    async end() {
      const started = performance.now()
      output = ''
      if (child.connected) child.disconnect()
      const late = setTimeout(() => child.kill('SIGKILL'), END_MS)
      const code = await ended
      clearTimeout(late)
      // A failed file is reported already, and may have left anything open.
      if (code === 0 || hasFailed) return undefined
      const files = runs.map(({ file }) => file).join('\n')
      const note = `One of these files left something open, or failed after its tests:\n${files}\n${output}`
      const ms = performance.now() - started
      return { ...(runs.at(-1) as Run), passed: 0, failed: 1, output: note, ms, cpu: undefined }
    },
  }
}
