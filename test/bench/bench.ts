/** What every figure is given. */
import type { Cores } from './cores.ts'
import type { Line } from './table.ts'

export interface Bench {
  readonly cores: Cores
  /** Rounds of each side, in turns. */
  readonly rounds: number
  /** Length of a round. */
  readonly seconds: number
  /** Resources of the figures that need many. */
  readonly resources: number
  /** Folder with the packages of a peer; undefined when none is given. */
  readonly peerFolder: string | undefined
  /** Folder of another checkout; undefined when none is given. */
  readonly otherFolder: string | undefined
  /** Folder for CPU profiles of both sides; undefined when none are wanted. */
  readonly profileFolder: string | undefined
  /** What is going on, for whoever waits. */
  say(text: string): void
  report(line: Line): void
}

/** Names stand in `npm run bench -- <name>`. */
export interface Figure {
  readonly name: string
  readonly description: string
  run(bench: Bench): Promise<void>
}
