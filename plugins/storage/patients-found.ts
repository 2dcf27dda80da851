/** The patients whose data a change concerns, if a worker thread has found them. */
import type { Change } from './change.ts'
import type { Findings } from './findings.ts'
import type { StoredVersion } from './version.ts'

/** Undefined if no worker thread has read the version that is replaced. */
export const patientsFound = (
  change: Change,
  findings: Findings | undefined,
  previous: StoredVersion | undefined,
): readonly string[] | undefined => {
  if (findings !== undefined) return findings.patients
  return change.kind === 'modify' && change.base.version === previous?.version ? change.patients : undefined
}
