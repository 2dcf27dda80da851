/** A change of one resource, as it is asked for and as it was made. */
import type { Interaction } from '../../kernel/index.ts'
import type { ResourceTemplate } from '../model/service.ts'
import type { Findings } from './findings.ts'
import type { StoredVersion } from './version.ts'
import type { RestrictedChange } from './write-check.ts'
import type { WriteGuard } from './write-guard.ts'

/** What If-Match, If-None-Match and If-Unmodified-Since ask of the current version. */
export interface Precondition {
  /** Version numbers of If-Match; `'*'` asks that there is one. */
  readonly ifMatch?: readonly number[] | '*'
  /** If-None-Match: * */
  readonly ifNoneMatch?: boolean
  /** If-Unmodified-Since: milliseconds since 1970, a whole second. Not beside `ifMatch`. */
  readonly unmodifiedSince?: number
}

interface ChangeBase {
  /** What a thread has found about it, where its content does not carry that. */
  readonly findings?: Findings | undefined
  readonly interaction: Interaction
  readonly type: string
  readonly precondition?: Precondition | undefined
  /** What the ruling on the interaction lets this change do. */
  readonly guard: WriteGuard
}

/** What a resource becomes. */
export interface NewContent {
  readonly resource: Record<string, unknown>
  readonly template: ResourceTemplate
  /** The JSON it was parsed from; that of a large one is decoded when it is asked for. */
  readonly sent: { readonly text: string }
}

export type Change = ChangeBase & { readonly id: string } & (
    | ({ readonly kind: 'create' } & NewContent)
    | ({
        readonly kind: 'update'
        /** May it make what is not there? [conformance] update_as_create */
        readonly mayCreate: boolean
        /** Throws where it may not replace the version that is there, because its criteria exclude it. */
        readonly checkReplaced?: ((current: StoredVersion) => void) | undefined
      } & NewContent)
    | {
        readonly kind: 'modify'
        /** The version that `content` was made from. */
        readonly base: StoredVersion
        /** Undefined leaves it as it is. */
        readonly content: NewContent | undefined
        /** Whose data `base` is, where a thread has found that `content` is to be undefined. */
        readonly patients?: readonly string[] | undefined
        /** Makes it from another version, when `base` was replaced meanwhile. Throws when that takes a promise. */
        rebase(current: StoredVersion): NewContent | undefined
      }
    | { readonly kind: 'delete' }
  )

/** What became of a change. `previous` is the version before, a deletion too. */
export interface Changed {
  readonly interaction: Interaction
  readonly version: StoredVersion
  readonly previous: StoredVersion | undefined
  readonly resource: Record<string, unknown> | undefined
  /** True when the resource did not exist (or was deleted) before. */
  readonly created: boolean
  /** False when nothing had to be written: deleting what is deleted, an update to what is stored. */
  readonly written: boolean
  /** Whose data it was and is, where a thread has found that out. */
  readonly patients?: readonly string[] | undefined
  /** For checks: what a caller with limited access may know. */
  readonly restricted?: RestrictedChange | undefined
}

/** Which change a step is about: set as they go, so that a Bundle can name the entry when one throws. */
export interface CurrentChange {
  interaction: Interaction | undefined
}
