/** The tasks of a thread, as plain data that can be sent between threads. */
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

/** A write: its address, and the version that it replaces. */
interface Writing {
  readonly type: string
  readonly id: string
  readonly ownUrl: OwnUrl | undefined
  readonly before: PackedVersion | undefined
  /** True when all rows of both versions are needed, because the caller's access is decided by them. */
  readonly isGuarded: boolean
}

export interface PatchToApply {
  readonly form: PatchForm
  readonly patch: Uint8Array
  /** In a transaction: what replaces the links that the patch adds. */
  readonly links: LinkSource | undefined
}

export type Task =
  /** Parse, validate and index a body that will be written. */
  | (Writing & { readonly task: 'write'; readonly body: Uint8Array })
  /** The same for the result of a patch of `before`. */
  | (Writing & PatchToApply & { readonly task: 'patch' })
  /** Make the index rows that a write removes with a version. */
  | (Writing & { readonly task: 'remove' })
  /** Parse a body, and record where its parts are. */
  | { readonly task: 'read'; readonly body: Uint8Array }
  /** Report all issues of a resource. */
  | { readonly task: 'check'; readonly body: Uint8Array; readonly profiles: readonly string[] }
  | {
      readonly task: 'present'
      readonly version: PackedVersion
      readonly type: ResourceType
      readonly presentation: Presentation
    }
  /** Make JSON of a body in XML, or XML of an answer in JSON. */
  | { readonly task: 'readXml'; readonly body: Uint8Array }
  | { readonly task: 'writeXml'; readonly json: Uint8Array; readonly pretty: boolean }
  | { readonly task: 'patients'; readonly version: PackedVersion; readonly ownUrl: OwnUrl | undefined }
