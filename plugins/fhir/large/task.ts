/** What a thread is asked, as plain data that crosses threads. */
import type { OwnUrl } from '../../../kernel/index.ts'
import type { ResourceType } from '../../model/service.ts'
import type { LinkSource } from '../bundle/link-source.ts'
import type { PatchForm } from '../patch/patch.ts'
import type { Presentation } from '../presentation/presentation-parameters.ts'

/** A version as it is stored. */
export interface PackedVersion {
  readonly type: string
  readonly id: string
  readonly version: number
  readonly versionTime: number
  readonly bytes: Uint8Array
  readonly encoding: number
}

/** What is written: the address it was sent to, and what is replaced. */
interface Writing {
  readonly type: string
  readonly id: string
  readonly ownUrl: OwnUrl | undefined
  readonly before: PackedVersion | undefined
  /** All rows of both versions are asked for, because the caller's access is decided by them. */
  readonly isGuarded: boolean
}

export interface PatchToApply {
  readonly form: PatchForm
  readonly patch: Uint8Array
  /** In a transaction: what the links that the patch brings become. */
  readonly links: LinkSource | undefined
}

export type Task =
  /** Read, checked and indexed, to be written. */
  | (Writing & { readonly task: 'write'; readonly body: Uint8Array })
  /** The same of what a patch makes of `before`. */
  | (Writing & PatchToApply & { readonly task: 'patch' })
  /** What goes out of the index with a version. */
  | (Writing & { readonly task: 'remove' })
  /** Read, with the places of its parts. */
  | { readonly task: 'read'; readonly body: Uint8Array }
  /** Everything there is to say about it. */
  | { readonly task: 'check'; readonly body: Uint8Array; readonly profiles: readonly string[] }
  | {
      readonly task: 'present'
      readonly version: PackedVersion
      readonly type: ResourceType
      readonly presentation: Presentation
    }
  | { readonly task: 'patients'; readonly version: PackedVersion; readonly ownUrl: OwnUrl | undefined }
