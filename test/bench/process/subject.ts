/**
 * A process that is measured: started on its core, asked over IPC and never over HTTP, so that asking does not count
 * as load.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { openSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { asShipped } from '../../support/as-shipped.ts'
import type { Cores } from '../cores.ts'

export interface SubjectOptions {
  readonly cores: Cores
  /** Let it use every core: for figures whose subject is what other threads do. */
  readonly unbound?: boolean
  /** Give it the options and the environment that `server` has. */
  readonly shipped?: boolean
  /** Where its standard output goes; dropped when unset. */
  readonly logPath?: string
}

export interface CpuUse {
  /** Microseconds of all threads, user and system. */
  readonly micros: number
  /** Resident bytes. */
  readonly rss: number
}

export interface Subject {
  ask<T>(kind: string, payload?: unknown): Promise<T>
  cpu(): Promise<CpuUse>
  /** Longest turns of its main thread since the last time, in milliseconds of CPU time. */
  turns(): Promise<{ readonly most: number; readonly long: readonly number[] }>
  /** Writes a CPU profile of its main thread while `work` runs. */
  profile(path: string, work: () => Promise<unknown>): Promise<void>
  stop(): Promise<void>
}

interface Reply {
  readonly number: number
  readonly result?: unknown
  readonly error?: string
}

/** A child inherits the core its parent is bound to, so an unbound one must be let loose. */
const command = ({ cores, unbound, shipped }: SubjectOptions) => {
  const { args, environment } = shipped === true ? asShipped() : { args: [], environment: process.env }
  if (cores.server === undefined) return { execPath: process.execPath, execArgv: [...args], env: environment }
  const list = unbound === true ? '0-1023' : String(cores.server)
  return { execPath: 'taskset', execArgv: ['-c', list, process.execPath, ...args], env: environment }
}

/** Starts `test/bench/process/<name>.ts`. */
export const startSubject = (name: string, options: SubjectOptions): Subject => {
  const output = options.logPath === undefined ? 'ignore' : openSync(options.logPath, 'a')
  const child: ChildProcess = fork(fileURLToPath(new URL(`./${name}.ts`, import.meta.url)), [], {
    ...command(options),
    stdio: ['ignore', output, 'inherit', 'ipc'],
    serialization: 'advanced',
  })
  const open = new Map<number, { resolve: (value: any) => void; reject: (error: unknown) => void }>()
  let number = 0
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  child.on('message', (message) => {
    const { number, result, error } = message as Reply
    const waiting = open.get(number)
    open.delete(number)
    if (error === undefined) waiting?.resolve(result)
    else waiting?.reject(new Error(error))
  })
  child.once('exit', (code) => {
    for (const { reject } of open.values()) reject(new Error(`the process ${name} ended with ${code}`))
  })
  const ask = <T>(kind: string, payload?: unknown): Promise<T> =>
    new Promise<T>((resolve, reject) => {
      number += 1
      open.set(number, { resolve, reject })
      child.send({ number, kind, payload })
    })
  return {
    ask,
    cpu: () => ask<CpuUse>('cpu'),
    turns: () => ask('takeTurns'),
    async profile(path, work) {
      await ask('startProfile')
      await work()
      await ask('stopProfile', path)
    },
    async stop() {
      if (child.exitCode !== null) return
      await ask('stop')
      child.disconnect()
      await exited
    },
  }
}
