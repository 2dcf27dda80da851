/** What the audit trail tells of a launch, a consent or a token: the patient whom it is about. */
import type { FactDetails } from '../../../kernel/index.ts'

export const grantedDetails = (patient: string | undefined): FactDetails | undefined =>
  patient === undefined ? undefined : { patients: () => [`Patient/${patient}`] }
