/** The program as it is shipped: compiled, started by its own entry, on the core of the server. */
import { spawn, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Bench } from './bench.ts'
import type { Place } from './house.ts'
import { examplesFolder } from './plugins.ts'

/** Of this checkout. */
export const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const TICK_MS = 10 // of /proc, on every Linux of ours
const START_MS = 120_000 // the first start installs a package

/** Brings dist/ of a checkout up to date, which is what its `cli/bin.js` runs. */
export const buildProgram = (root = ROOT): void => {
  const compiler = createRequire(import.meta.url)
    .resolve('typescript/package.json')
    .replace('package.json', 'bin/tsc')
  const { status, stdout } = spawnSync(process.execPath, [compiler, '-p', 'tsconfig.build.json'], { cwd: root })
  if (status !== 0) throw new Error(`the build failed:\n${stdout}`)
}

export interface Program {
  readonly address: string
  /** Milliseconds from spawning the process until it said that it is ready and /readyz agreed. */
  readonly readyMs: number
  /** Milliseconds of CPU that all its threads had taken by then; undefined where there is no /proc. */
  readonly readyCpuMs: number | undefined
  /** Resident bytes now. */
  rss(): number
  stop(): Promise<void>
}

const cpuOf = (pid: number | undefined): number | undefined => {
  try {
    // https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html: user and system time are the fields 14 and 15.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
    return (Number(fields[11]) + Number(fields[12])) * TICK_MS
  } catch {
    return undefined
  }
}

export interface ProgramOptions {
  /** Of a checkout that is built; this one when absent. */
  readonly root?: string
  /** Instead of the SQLite file of the place. */
  readonly postgresUrl?: string
}

export const startProgram = async (
  { cores }: Pick<Bench, 'cores'>,
  { sqlitePath }: Pick<Place, 'sqlitePath'>,
  { root = ROOT, postgresUrl }: ProgramOptions = {},
): Promise<Program> => {
  const database = postgresUrl === undefined ? ['--sqlite', sqlitePath] : ['--postgres', postgresUrl]
  const command = [process.execPath, join(root, 'cli', 'bin.js'), '--bind', '127.0.0.1:0', ...database]
  const bound = cores.server === undefined ? command : ['taskset', '-c', String(cores.server), ...command]
  const startedAt = performance.now()
  const child = spawn(bound[0] as string, [...bound.slice(1), '--package', examplesFolder], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, SERVER_SKIP_DEFAULT_PACKAGES: 'true' },
  })
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const late = setTimeout(() => child.kill('SIGKILL'), START_MS)
  try {
    const address = await new Promise<string>((resolve, reject) => {
      void exited.then(() => reject(new Error('the program ended before it was ready')))
      createInterface({ input: child.stdout }).on('line', (line) => {
        const { msg, address } = JSON.parse(line) as { msg: string; address?: string }
        if (msg === 'ready' && address !== undefined) resolve(address)
      })
    })
    const { status } = await fetch(`${address}/readyz`)
    if (status !== 200) throw new Error(`/readyz answers ${status} after the start`)
    return {
      address,
      readyMs: performance.now() - startedAt,
      readyCpuMs: cpuOf(child.pid),
      rss: () => Number(spawnSync('ps', ['-o', 'rss=', '-p', String(child.pid)]).stdout) * 1024,
      async stop() {
        child.kill('SIGTERM')
        await exited
      },
    }
  } finally {
    clearTimeout(late)
  }
}
