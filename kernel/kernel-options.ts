/** Options of createKernel(). */
import type { Clock, Random } from './clock.ts'
import type { ConnectionLimits } from './listen.ts'
import type { LogOptions } from './log.ts'
import type { AnyPlugin } from './plugin.ts'
import type { Layered } from './settings/layer.ts'

export interface KernelOptions {
  readonly plugins: readonly AnyPlugin[]
  /** Sections as server.toml has them, or settings layered from several places by the CLI. */
  readonly settings?: object | Layered
  readonly log?: LogOptions
  readonly clock?: Clock
  readonly random?: Random
  /** Where relative paths of `[plugins] load` start; the working directory by default. */
  readonly folder?: string
  /**
   * Shows a line to the person who started the server, and keeps it nowhere: given where standard error is a terminal. For
   * secrets that were made at the start.
   */
  readonly tellOperator?: (line: string) => void
  /**
   * Starts these plugins and what they need, and only sets up the others: for a command that must not take part in what
   * running servers do together.
   */
  readonly only?: readonly string[]
  /** Time limits of connections to our own port, where they differ from the usual ones. */
  readonly limits?: Partial<ConnectionLimits>
}
