/** What an audit event of a launch, a consent or a token has: the patient whom it is about, and the granted scopes. */
import type { FactDetails } from '../../../kernel/index.ts'

export const grantedDetails = (patient: string | undefined, scope?: string): FactDetails | undefined =>
  patient === undefined && scope === undefined
    ? undefined
    : {
        ...(patient !== undefined && { patients: () => [`Patient/${patient}`] }),
        ...(scope !== undefined && { scopes: () => scope }),
      }
