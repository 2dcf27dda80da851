/** Makes the object that shows write checks what a caller with limited access may know. */
import type { Findings } from './findings.ts'
import type { StoredVersion } from './version.ts'
import type { RestrictedChange } from './write-check.ts'
import type { WriteGuard } from './write-guard.ts'

export const toRestrictedChange = (
  guard: WriteGuard,
  previous: StoredVersion | undefined,
  findings: Findings | undefined,
): RestrictedChange => ({
  referred: findings?.before?.references,
  get previous() {
    if (previous === undefined || previous.deleted) return undefined
    return JSON.parse(previous.text) as Record<string, unknown>
  },
  names: ({ type, id }) => guard.names(type, id),
  sees: (found) => guard.sees(found),
})
