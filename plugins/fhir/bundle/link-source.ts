/** What a thread needs to replace links when it applies a patch of a transaction. */
import type { OwnUrl } from '../../../kernel/index.ts'
import type { Identity } from './identities.ts'

/** All members are plain data. */
export interface LinkSource {
  readonly ownUrl: OwnUrl | undefined
  /** fullUrl of the entry with the patch. */
  readonly fullUrl: string | undefined
  readonly identities: readonly (readonly [string, Identity])[]
  /** Conditional reference → the reference that replaces it. */
  readonly conditions: ReadonlyMap<string, string>
}
