/** Whose data a change is about, as a thread has found it. */
import type { Change } from './change.ts'
import type { Findings } from './findings.ts'
import type { StoredVersion } from './version.ts'

/** Undefined where no thread has looked at the version that is replaced. */
export const patientsFound = (
  change: Change,
  findings: Findings | undefined,
  previous: StoredVersion | undefined,
): readonly string[] | undefined => {
  if (findings !== undefined) return findings.patients
  return change.kind === 'modify' && change.base.version === previous?.version ? change.patients : undefined
}
