/** Collects the patients of all versions that an invocation has shown, for its one fact in the audit trail. */
import type { OwnUrl, Runners } from '../../../kernel/index.ts'
import type { StoredVersion } from '../../storage/service.ts'
import type { AuditDetails } from '../audit-details.ts'

/** Patients are read from the versions when they are requested, or once this number of versions has been collected. */
const MAX_VERSIONS = 1_000

export const createShown = (
  audit: Pick<AuditDetails, 'patients'>,
  run: Pick<Runners, 'onAudit'>,
  ownUrl: OwnUrl | undefined,
) => {
  const patients = new Set<string>()
  let versions: StoredVersion[] = []
  const fold = (): void => {
    for (const patient of audit.patients(versions, ownUrl)) patients.add(patient)
    versions = []
  }
  return {
    add(shown: readonly StoredVersion[]): void {
      if (run.onAudit === null) return
      for (const version of shown) versions.push(version)
      if (versions.length > MAX_VERSIONS) fold()
    },
    /** Each patient once. */
    patients(): readonly string[] {
      fold()
      return [...patients]
    },
    clear(): void {
      versions = []
      patients.clear()
    },
  }
}
