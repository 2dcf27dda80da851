/** The links of a transaction, for a thread that patches a resource of it. */
import type { OwnUrl } from '../../../kernel/index.ts'
import type { Identity } from './identities.ts'

/** What the links of a transaction become, as plain data for a thread. */
export interface LinkSource {
  readonly ownUrl: OwnUrl | undefined
  /** Of the entry with the patch. */
  readonly fullUrl: string | undefined
  readonly identities: readonly (readonly [string, Identity])[]
  /** Conditional reference → the reference it stands for. */
  readonly conditions: ReadonlyMap<string, string>
}
