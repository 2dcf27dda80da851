/** What the trail is told of versions that were shown: whose data they are. */
import type { FactDetails, OwnUrl } from '../../kernel/index.ts'
import type { StoredVersion } from '../storage/service.ts'
import type { FhirServer } from './parts.ts'

/** What the trail is told of a version that was shown. */
export const auditDetailsOf = (
  { run, patientSubjects }: FhirServer,
  version: StoredVersion | undefined,
  ownUrl: OwnUrl | undefined,
): FactDetails | undefined =>
  version === undefined || run.onAudit === null
    ? undefined
    : { patients: () => patientSubjects.ofVersion(version, ownUrl) }

/** Of several versions, each patient once; mostly they are of one. */
export const patientsOf = (
  { patientSubjects }: FhirServer,
  versions: readonly StoredVersion[],
  ownUrl: OwnUrl | undefined,
): readonly string[] => {
  const found: string[] = []
  for (const version of versions)
    for (const patient of patientSubjects.ofVersion(version, ownUrl)) if (patient !== found.at(-1)) found.push(patient)
  return found.length < 2 ? found : [...new Set(found)]
}

/** Whose data several versions are, and how they were asked for; nothing when nobody wants to know. */
export const withAuditDetails = (
  { run }: FhirServer,
  patients: () => readonly string[],
  query: () => string,
): { readonly details?: FactDetails } => (run.onAudit === null ? {} : { details: { query, patients } })
