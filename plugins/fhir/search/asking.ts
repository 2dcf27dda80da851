/** What a search is asked with. */
import type { Condition } from './condition.ts'

/** What a search is asked from: where this server is, when it is, what was told to see. */
export interface Asking {
  readonly baseUrl: string
  readonly now: number
  /** Largest rid this search may see. */
  readonly pin: number
  /** Conditions that what a chain or `_has` passes through must meet; undefined when that type is closed. */
  readonly allowed: (type: string) => Promise<readonly Condition[] | undefined>
}
