/** Starts child-server.ts and waits for its address. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { bundledProgram } from './bundled-program.ts'

export interface SpawnedServer {
  readonly base: string
  readonly child: ChildProcess
  /** Sends SIGKILL: no handler runs, and the process flushes nothing. */
  kill(): Promise<void>
  /** Sends the signal and resolves with the exit code; null when the signal ended the process. */
  end(signal: NodeJS.Signals): Promise<number | null>
}

const START_MS = 60_000 // one that waits for the writer lease of another server would wait for ever
const RESOLVE_SOURCES = new URL('./resolve-sources.ts', import.meta.url).href
const PROGRAM = bundledProgram('child-server')
// Enough for a start, of which collections took a fifteenth.
const YOUNG_GENERATION = '--min-semi-space-size=16'

export interface SpawnOptions {
  /** Maximum size of a file that the process writes, in blocks: `ulimit -f`. */
  readonly blocks?: number
  /** Names of first-party plugins beside the basic ones. */
  readonly plugins?: readonly string[]
  /** Further sections of settings. */
  readonly settings?: Readonly<Record<string, unknown>>
  /** Arguments of Node, and variables of the environment. */
  readonly node?: { readonly args: readonly string[]; readonly environment: NodeJS.ProcessEnv }
  /** Resolves as soon as it listens, which one that waits for the writer lease does long before it is ready. */
  readonly isEarly?: boolean
}

/** `place`: the path of a SQLite file, or sections that open another database. */
export const spawnServer = async (
  place: string | Readonly<Record<string, unknown>>,
  { blocks, plugins = [], settings: more, isEarly = false, node }: SpawnOptions = {},
): Promise<SpawnedServer> => {
  const limit = blocks === undefined ? '' : `ulimit -f ${blocks}; `
  const opened = typeof place === 'string' ? { database: { kind: 'sqlite', sqlite_path: place } } : place
  const settings = JSON.stringify({ ...more, ...opened })
  const command = `${limit}exec "$0" "$@"`
  const child = spawn(
    '/bin/sh',
    [
      '-c',
      command,
      process.execPath,
      ...(node?.args ?? [YOUNG_GENERATION]),
      '--import',
      RESOLVE_SOURCES,
      PROGRAM,
      settings,
      ...plugins,
      ...(isEarly ? ['listening'] : []),
    ],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: node?.environment ?? process.env,
    },
  )
  const lines = createInterface({ input: child.stdout })
  const started = performance.now()
  const late = setTimeout(() => child.kill('SIGKILL'), START_MS)
  const ended = once(child, 'exit').then(([code]) => {
    const isLate = performance.now() - started >= START_MS
    throw new Error(isLate ? `the server was not ready after ${START_MS} ms` : `the server ended with ${code}`)
  })
  const [base] = (await Promise.race([once(lines, 'line'), ended]).finally(() => clearTimeout(late))) as [string]
  return {
    base,
    child,
    async kill() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const gone = once(child, 'exit')
      child.kill('SIGKILL')
      await gone
    },
    async end(signal) {
      if (child.exitCode !== null || child.signalCode !== null) return child.exitCode
      const gone = once(child, 'exit')
      child.kill(signal)
      return ((await gone) as [number | null])[0]
    },
  }
}
