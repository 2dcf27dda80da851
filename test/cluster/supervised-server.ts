/** A server of a cluster at one address, started again whenever it ends, as a supervisor does, and watched meanwhile. */
import { readdirSync, readFileSync } from 'node:fs'
import { type SpawnedServer, spawnServer } from '../support/spawn-server.ts'
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'

const AGAIN_MS = 200
const SAMPLE_MS = 1_000
const RESTART = 75

export interface Lifetime {
  /** Megabytes of memory, each second while it was ready. */
  readonly memory: number[]
  /** Open files, likewise. */
  readonly files: number[]
}

export interface SupervisedServer {
  readonly name: string
  readonly base: string
  /** Between this server and its database. */
  readonly proxy: TcpProxy
  readonly lifetimes: readonly Lifetime[]
  /** Ends that neither the test nor the role of the server explains. */
  readonly faults: readonly string[]
  /** How often it ended: by a signal of ours, with 75, or because it could not start while the database was away. */
  readonly ends: Readonly<Record<'signalled' | 'restart' | 'start', number>>
  signal(signal: NodeJS.Signals): void
  stop(): Promise<void>
}

export interface SupervisedOptions {
  readonly name: string
  readonly databasePort: number
  /** URL of the database, at `databasePort`. */
  readonly databaseUrl: string
  readonly plugins: readonly string[]
  readonly settings: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** On Linux only; undefined where the process has just ended. */
const look = (pid: number): { readonly memory: number; readonly files: number } | undefined => {
  try {
    const [, kilobytes] = /^VmRSS:\s*(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
    return { memory: Number(kilobytes) / 1024, files: readdirSync(`/proc/${pid}/fd`).length }
  } catch {
    return undefined
  }
}

export const superviseServer = async (options: SupervisedOptions): Promise<SupervisedServer> => {
  const { name, databasePort, databaseUrl, plugins, settings } = options
  const proxy = await startTcpProxy(databasePort)
  const url = databaseUrl.replace(`:${databasePort}/`, `:${proxy.port}/`)
  const lifetimes: Lifetime[] = []
  const faults: string[] = []
  const ends = { signalled: 0, restart: 0, start: 0 }
  let base = ''
  let server: SpawnedServer
  let lifetime: Lifetime
  let isSignalled = false
  let wasReady = false
  let isOver = false

  const start = async (): Promise<void> => {
    const bind = base === '' ? '127.0.0.1:0' : new URL(base).host
    const own = { ...settings, server: { ...settings.server, bind } }
    isSignalled = false
    wasReady = false
    lifetime = { memory: [], files: [] }
    lifetimes.push(lifetime)
    server = await spawnServer(
      { database: { kind: 'postgres', postgres_url: url } },
      { plugins, settings: own, isEarly: true },
    )
    base = server.base
  }
  const judge = ({ exitCode, signalCode }: SpawnedServer['child']): void => {
    if (isSignalled && (exitCode === 0 || signalCode !== null || exitCode === RESTART)) ends.signalled += 1
    else if (exitCode === RESTART) ends.restart += 1
    else if (exitCode === 1 && !wasReady) ends.start += 1
    else faults.push(`${name} ended with ${exitCode ?? signalCode}${wasReady ? '' : ' before it was ready'}`)
  }
  const supervise = async (): Promise<void> => {
    while (!isOver) {
      const { child } = server
      if (child.exitCode !== null || child.signalCode !== null) {
        judge(child)
        await pause(AGAIN_MS)
        if (!isOver) await start().catch((error: Error) => faults.push(`${name} did not start: ${error.message}`))
      }
      await pause(AGAIN_MS)
    }
  }
  const watch = async (): Promise<void> => {
    while (!isOver) {
      await pause(SAMPLE_MS)
      const signal = AbortSignal.timeout(SAMPLE_MS)
      const isReady = await fetch(`${base}/readyz`, { signal }).then(
        ({ status }) => status === 200,
        () => false,
      )
      if (!isReady) continue
      wasReady = true
      const seen = look(server.child.pid ?? 0)
      if (seen === undefined) continue
      lifetime.memory.push(seen.memory)
      lifetime.files.push(seen.files)
    }
  }
  await start()
  const running = Promise.all([supervise(), watch()])
  return {
    ...{ name, proxy, lifetimes, faults, ends },
    get base() {
      return base
    },
    signal(signal) {
      const { exitCode, signalCode } = server.child
      if (exitCode !== null || signalCode !== null) return // it is being started again
      if (signal === 'SIGKILL' || signal === 'SIGTERM') isSignalled = true
      server.child.kill(signal)
    },
    async stop() {
      isOver = true
      await running
      server.child.kill('SIGCONT')
      await server.kill()
      proxy.stop()
    },
  }
}
