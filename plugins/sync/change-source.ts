/** The source of changes for live queries: the feed of a cluster, or the commits of this process. */
import type { ResourceVersion } from '../../kernel/index.ts'
import type { Place, Spot } from './place.ts'

/** The type of a change of the installed packages, which may give a search another meaning. */
export const PACKAGES = 'packages'

/** A change without its content. */
export interface HeardChange {
  /** Right behind the change. */
  readonly spot: Spot
  /** Or PACKAGES. */
  readonly type: string
  readonly id: string
  /** Number of the version that it has made. */
  readonly version: number
}

export interface Versions {
  /** The version before; undefined where there was none, or a deletion. */
  readonly previous: ResourceVersion | undefined
  /** Without `json` for a deletion. */
  readonly next: ResourceVersion
  /** The parsed content of `next`, if the source has it. */
  readonly resource: Readonly<Record<string, unknown>> | undefined
}

export interface Change {
  /** Right behind the change. */
  readonly place: Place
  readonly type: string
  /** Undefined where the listener did not want its type. */
  readonly versions: Versions | undefined
}

export interface ChangeListener {
  /** Whether the content of changes of this type is needed. */
  wants(type: string): boolean
  /** All changes of one commit, each once, in the order of commits, when they are stored. It must not throw. */
  heard(changes: readonly HeardChange[]): void
  /** The same changes in the same order, some at once, when their content is there. It must not throw. */
  changed(changes: readonly Change[]): void
  /** Changes were missed: results that earlier changes have led to are void. */
  gap(): void
}

export interface Listening {
  /** All changes behind it are delivered. */
  readonly from: Spot
  /** The same as a place. Undefined before `settled` has resolved once. */
  readonly start: Place | undefined
  /** Resolves when the listener was given every change that a search has shown before this call. Rejects with 5xx. */
  settled(): Promise<void>
  /** Whether a place belongs to the history whose changes are delivered. Rejects with 5xx. */
  holds(place: Place): Promise<boolean>
  /**
   * Changes behind a place that `holds`, up to the end of the commit of another one that was heard. Undefined where some
   * of them are not known any more.
   */
  behind(place: Place, until: Spot): Promise<readonly HeardChange[] | undefined>
  stop(): void
}

export interface ChangeSource {
  /** Begins with the next commit. There is one listener at a time. */
  listen(listener: ChangeListener): Listening
}
