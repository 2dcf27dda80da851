/** What /metadata says beside what is registered. */
import type { CapabilityPart } from '../capability-part.ts'

export interface CapabilityOptions {
  readonly updateAsCreate: boolean
  readonly parts: readonly CapabilityPart[]
}
