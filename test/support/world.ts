/** A World without a process: output is collected, the test sends signals, the folder is temporary. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { run } from '../../cli/run.ts'
import type { SignalName, World } from '../../cli/world.ts'
import type { AnyPlugin } from '../../kernel/index.ts'

export interface Ran {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

export interface TestWorld {
  readonly folder: string
  readonly world: World
  /** Output until now. */
  readonly output: { stdout: string; stderr: string }
  /** Exit codes passed to `exit`, which ends nothing here. */
  readonly exits: number[]
  send(signal: SignalName): void
  /** Runs to the end. */
  run(): Promise<Ran>
  remove(): void
}

export interface TestWorldOptions {
  readonly argv?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly plugins?: readonly AnyPlugin[]
  readonly terminal?: boolean
  /** Called after each write, e.g. to send a signal when the server is ready. */
  readonly onWrite?: (world: TestWorld, text: string) => void
  /** An existing folder to run in, which `remove` leaves alone. */
  readonly folder?: string
}

export const createWorld = (options: TestWorldOptions = {}): TestWorld => {
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), 'server-cli-'))
  const output = { stdout: '', stderr: '' }
  const exits: number[] = []
  const listeners = new Set<(name: SignalName) => void>()
  const sink = (name: 'stdout' | 'stderr') => ({
    isTTY: options.terminal ?? false,
    write: (text: string) => {
      output[name] += text
      options.onWrite?.(test, text)
    },
  })
  const world: World = {
    argv: options.argv ?? [],
    environment: options.environment ?? {},
    folder,
    stdout: sink('stdout'),
    stderr: sink('stderr'),
    firstParty: options.plugins ?? [],
    places: ['server.toml'],
    onSignal: (listener) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    exit: (code) => void exits.push(code),
  }
  const test: TestWorld = {
    folder,
    world,
    output,
    exits,
    send: (signal) => {
      for (const listener of listeners) listener(signal)
    },
    run: async () => ({ code: await run(world), ...output }),
    remove: () => {
      if (options.folder === undefined) rmSync(folder, { recursive: true, force: true })
    },
  }
  return test
}
