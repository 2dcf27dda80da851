/** A change of one resource: as requested (`Change`) and as made (`Changed`). */
import type { Interaction } from '../../kernel/index.ts'
import type { ResourceTemplate } from '../model/service.ts'
import type { Findings } from './findings.ts'
import type { StoredVersion } from './version.ts'
import type { RestrictedChange } from './write-check.ts'
import type { WriteGuard } from './write-guard.ts'

/** The conditions of If-Match, If-None-Match and If-Unmodified-Since on the current version. */
export interface Precondition {
  /** Version numbers of If-Match; `'*'` requires only that the resource exists. */
  readonly ifMatch?: readonly number[] | '*'
  /** True for `If-None-Match: *`, which requires that the resource does not exist. */
  readonly ifNoneMatch?: boolean
  /** If-Unmodified-Since, in milliseconds since the epoch, a whole second. Not set if `ifMatch` is, which takes precedence. */
  readonly unmodifiedSince?: number
}

interface ChangeBase {
  /** Findings of a worker thread for a change whose content does not carry them, such as a deletion. */
  readonly findings?: Findings | undefined
  readonly interaction: Interaction
  readonly type: string
  readonly precondition?: Precondition | undefined
  /** Enforces the ruling on the interaction. */
  readonly guard: WriteGuard
}

/** The content that a resource gets. */
export interface NewContent {
  readonly resource: Record<string, unknown>
  readonly template: ResourceTemplate
  /** The JSON that the resource was parsed from. For a large body `text` is a getter that decodes the bytes. */
  readonly sent: { readonly text: string }
}

export type Change = ChangeBase & { readonly id: string } & (
    | ({ readonly kind: 'create' } & NewContent)
    | ({
        readonly kind: 'update'
        /** Whether the update may create the resource. Setting: [conformance] update_as_create */
        readonly mayCreate: boolean
        /** For a conditional update whose criteria matched nothing: throws if a resource with this id exists, as it must not be replaced. */
        readonly checkReplaced?: ((current: StoredVersion) => void) | undefined
      } & NewContent)
    | {
        readonly kind: 'modify'
        /** The version that `content` was made from. */
        readonly base: StoredVersion
        /** Undefined if the modification leaves the resource as it is. */
        readonly content: NewContent | undefined
        /** The patients whose data `base` is. Set if a worker thread found that nothing changes, so that `content` is undefined. */
        readonly patients?: readonly string[] | undefined
        /**
         * Makes the content again from the version that has replaced `base` meanwhile. It is synchronous: it throws if the
         * content can only be made asynchronously.
         */
        rebase(current: StoredVersion): NewContent | undefined
      }
    | { readonly kind: 'delete' }
  )

/** The result of a change. `previous` is the version before; it may be a deletion. */
export interface Changed {
  readonly interaction: Interaction
  readonly version: StoredVersion
  readonly previous: StoredVersion | undefined
  readonly resource: Record<string, unknown> | undefined
  /** True when the resource did not exist (or was deleted) before. */
  readonly created: boolean
  /** False if nothing was written: the resource was already deleted, or already had this content. */
  readonly written: boolean
  /** The patients whose data the resource was and is; set if a worker thread has found them. */
  readonly patients?: readonly string[] | undefined
  /** Set for a caller with limited access: shows write checks what the caller may know. */
  readonly restricted?: RestrictedChange | undefined
}

/** The change that is being applied. The write path sets it, so that a Bundle can name the entry when an error is thrown. */
export interface CurrentChange {
  interaction: Interaction | undefined
}
