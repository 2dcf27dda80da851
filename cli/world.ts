/** What the command line uses of its process. Made from `process` in main.ts, and from plain values in tests. */
import type { Output } from '../kernel/command.ts'
import type { AnyPlugin } from '../kernel/index.ts'

export type SignalName = 'SIGINT' | 'SIGTERM' | 'SIGHUP'

export interface World {
  /** Arguments after the program's name. */
  readonly argv: readonly string[]
  readonly environment: Readonly<Record<string, string | undefined>>
  /** The working directory. */
  readonly folder: string
  readonly stdout: Output
  readonly stderr: Output
  readonly firstParty: readonly AnyPlugin[]
  /** Where server.toml is looked for when it is not named; the standard places by default. */
  readonly places?: readonly string[]
  /** Calls the listener at each signal until the returned function is called. */
  onSignal(listener: (name: SignalName) => void): () => void
  /** Ends the process at once. */
  exit(code: number): void
  /** Bounds the heap of the process, given [server] memory_bytes or what stands for it. */
  boundHeap?(bytes: number): void
  /** Returns memory that the start has used, once the process is idle; the returned function gives up. */
  collectWhenIdle?(): () => void
}
