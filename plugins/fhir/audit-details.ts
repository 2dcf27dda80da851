/** Details of reads for the audit trail: which patients the shown versions belong to. */
import type { FactDetails, OwnUrl, Runners } from '../../kernel/index.ts'
import type { PatientSubjects } from '../search/service.ts'
import type { StoredVersion } from '../storage/service.ts'

type AuditRunner = Pick<Runners, 'onAudit'>

export interface AuditDetails {
  /** Details of one version that was shown; undefined when no plugin taps `onAudit`. */
  of(run: AuditRunner, version: StoredVersion | undefined, ownUrl: OwnUrl | undefined): FactDetails | undefined
  /** The patients of several versions, each once. Mostly all versions belong to one patient. */
  patients(versions: readonly StoredVersion[], ownUrl: OwnUrl | undefined): readonly string[]
  /**
   * `patients`, when it is called. The trail keeps the function until the event is written, so it refers to nothing else: with
   * the request its answer and its buffers would stay in memory as long.
   */
  patientsLater(versions: readonly StoredVersion[], ownUrl: OwnUrl | undefined): () => readonly string[]
}

export const createAuditDetails = (patientSubjects: Pick<PatientSubjects, 'ofVersion'>): AuditDetails => {
  const patients: AuditDetails['patients'] = (versions, ownUrl) => {
    const found: string[] = []
    for (const version of versions)
      for (const patient of patientSubjects.ofVersion(version, ownUrl))
        if (patient !== found.at(-1)) found.push(patient)
    return found.length < 2 ? found : [...new Set(found)]
  }
  const detailsOfVersion = (version: StoredVersion, ownUrl: OwnUrl | undefined): FactDetails =>
    Object.freeze({ patients: () => patientSubjects.ofVersion(version, ownUrl) })
  return {
    patients,
    patientsLater: (versions, ownUrl) => () => patients(versions, ownUrl),
    of: (run, version, ownUrl) =>
      version === undefined || run.onAudit === null ? undefined : version.auditDetails(ownUrl, detailsOfVersion),
  }
}

/**
 * Details of a read of several versions: their patients, and the query; undefined when no plugin taps `onAudit`. The trail
 * keeps `patients` until the event is written.
 */
export const detailsOfPage = (
  run: AuditRunner,
  patients: () => readonly string[],
  query: string,
): FactDetails | undefined => (run.onAudit === null ? undefined : { query: () => query, patients })
