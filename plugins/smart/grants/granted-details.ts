/** What the audit trail tells of a launch, a consent or a token: the patient whom it is about, and the scopes. */
import type { FactDetails } from '../../../kernel/index.ts'

export const grantedDetails = (patient: string | undefined, scope: string | undefined): FactDetails => ({
  patients: () => (patient === undefined ? [] : [`Patient/${patient}`]),
  ...(scope !== undefined && { query: () => `scope=${encodeURIComponent(scope)}` }),
})
