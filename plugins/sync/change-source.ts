/** Where live queries learn of changes. Own commits are one such source; the feed of a cluster is another. */
import type { ResourceVersion } from '../../kernel/index.ts'

export interface Change {
  /** Orders all changes of an epoch as their commits; one number for each change, growing. */
  readonly seq: number
  /** The version before; undefined where there was none, or a deletion. */
  readonly previous: ResourceVersion | undefined
  /** Without `json` for a deletion. */
  readonly next: ResourceVersion
  /** The parsed content of `next`, if the source has it. */
  readonly resource: Readonly<Record<string, unknown>> | undefined
}

export interface ChangeListener {
  /** All changes of one commit, each once, when they are stored and every search finds them. It must not throw. */
  changed(changes: readonly Change[]): void
  /** Changes were missed: whatever was made of the earlier ones is void. */
  gap(): void
}

export interface Listening {
  /** Names the numbers: a `seq` means nothing in another epoch. */
  readonly epoch: string
  /** Of the last change that the listener was given. */
  readonly seq: number
  stop(): void
}

export interface ChangeSource {
  /** Begins with the next commit. There is one listener at a time. */
  listen(listener: ChangeListener): Listening
}
