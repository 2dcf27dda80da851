/** What the FHIR plugin offers to others: places where they add to the capability statement. */
import { defineService } from '../../kernel/index.ts'
import type { CapabilityPart } from './capability.ts'

export interface Fhir {
  /** In setup only: shown in /metadata. */
  describe(part: CapabilityPart): void
}

export const Fhir = defineService<Fhir>('fhir')
