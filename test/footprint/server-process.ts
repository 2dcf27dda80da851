/** A server as it is shipped, compiled and in a process of its own, whose memory is read from outside and from inside. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { ToldMemory } from './tell-memory.ts'

const START_MS = 120_000 // the first start installs a package
const LOOK_MS = 20
const TELL_MEMORY = new URL('./tell-memory.ts', import.meta.url).href

/** Bytes. */
export interface Memory extends ToldMemory {
  readonly rss: number
  /** The most there ever was. */
  readonly peak: number
  readonly anonymous: number
  readonly file: number
}

export interface ServerProcess {
  readonly address: string
  readonly pid: number
  memory(): Promise<Memory>
  stop(): Promise<void>
}

/** https://man7.org/linux/man-pages/man5/proc_pid_status.5.html */
const readStatus = (pid: number): Pick<Memory, 'rss' | 'peak' | 'anonymous' | 'file'> => {
  const text = readFileSync(`/proc/${pid}/status`, 'utf8')
  const bytesOf = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1]) * 1024
  return { rss: bytesOf('VmRSS'), peak: bytesOf('VmHWM'), anonymous: bytesOf('RssAnon'), file: bytesOf('RssFile') }
}

const readyAddress = (child: ChildProcess): Promise<string> =>
  new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`the server ended with ${code} before it was ready`)))
    createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (line) => {
      const { msg, address } = JSON.parse(line) as { msg: string; address?: string }
      if (msg === 'ready' && address !== undefined) resolve(address)
    })
  })

export interface ServerProcessOptions {
  /** The checkout whose compiled program is started. */
  readonly root: string
  readonly config: string
  readonly environment?: Readonly<Record<string, string>>
}

export const startServerProcess = async ({
  root,
  config,
  environment = {},
}: ServerProcessOptions): Promise<ServerProcess> => {
  const memoryFile = `${config}.memory`
  const child = spawn(process.execPath, ['--import', TELL_MEMORY, join(root, 'cli', 'bin.js'), '--config', config], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...environment, MEMORY_FILE: memoryFile },
  })
  const { pid } = child
  if (pid === undefined) throw new Error('the server could not be started')
  const late = setTimeout(() => child.kill('SIGKILL'), START_MS)
  const address = await readyAddress(child).finally(() => clearTimeout(late))
  return {
    address,
    pid,
    async memory() {
      rmSync(memoryFile, { force: true })
      child.kill('SIGUSR2')
      while (!existsSync(memoryFile)) {
        if (child.exitCode !== null || child.signalCode !== null) throw new Error('the server has ended')
        await new Promise((done) => setTimeout(done, LOOK_MS))
      }
      const inside = JSON.parse(readFileSync(memoryFile, 'utf8')) as ToldMemory
      return { ...readStatus(pid), ...inside }
    },
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const exited = once(child, 'exit')
      child.kill('SIGTERM')
      await exited
    },
  }
}
