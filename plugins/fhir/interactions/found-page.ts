/** What a search found: a searchset as text, and the versions in it, for the trail. */
import type { StoredVersion } from '../store/version.ts'

export interface FoundPage {
  readonly text: string
  /** Bytes of the text, where they are known. */
  readonly length?: number | undefined
  readonly versions: readonly StoredVersion[]
}
