/** What the trail is told of versions that were shown: whose data they are. */
import type { FactDetails, OwnUrl, Runners } from '../../kernel/index.ts'
import type { PatientSubjects } from '../search/service.ts'
import type { StoredVersion } from '../storage/service.ts'

type Told = Pick<Runners, 'onAudit'>

export interface AuditDetails {
  /** Of a version that was shown; undefined when nobody wants to know. */
  of(run: Told, version: StoredVersion | undefined, ownUrl: OwnUrl | undefined): FactDetails | undefined
  /** Of several versions, each patient once; mostly they are of one. */
  patients(versions: readonly StoredVersion[], ownUrl: OwnUrl | undefined): readonly string[]
}

export const createAuditDetails = (patientSubjects: Pick<PatientSubjects, 'ofVersion'>): AuditDetails => ({
  of: (run, version, ownUrl) =>
    version === undefined || run.onAudit === null
      ? undefined
      : { patients: () => patientSubjects.ofVersion(version, ownUrl) },
  patients(versions, ownUrl) {
    const found: string[] = []
    for (const version of versions)
      for (const patient of patientSubjects.ofVersion(version, ownUrl))
        if (patient !== found.at(-1)) found.push(patient)
    return found.length < 2 ? found : [...new Set(found)]
  },
})

/** Whose data several versions are, and how they were asked for; nothing when nobody wants to know. */
export const withAuditDetails = (
  run: Told,
  patients: () => readonly string[],
  query: () => string,
): { readonly details?: FactDetails } => (run.onAudit === null ? {} : { details: { query, patients } })
