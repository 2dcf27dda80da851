/** Combines the results of compiled grants for one version. */
import type { StoredVersion } from '../../storage/service.ts'
import type { ClauseSubject } from '../query/clause.ts'
import type { CompiledGrants } from './compiled-grants.ts'

/** True or false when the grants decide in memory. Undefined when the index has to be searched. */
export const grantResult = (
  compiled: readonly CompiledGrants[],
  version: StoredVersion,
  subjectOf: (version: StoredVersion) => ClauseSubject,
): boolean | undefined => {
  let subject: ClauseSubject | undefined
  let isKnown = true
  for (const { test, certain, results } of compiled) {
    const decides = test ?? certain
    let result = results.get(version)
    if (result === undefined && decides !== undefined) {
      subject ??= subjectOf(version)
      result = decides(subject)
      results.set(version, result)
    }
    if (result === true) continue
    if (test !== undefined) return false
    isKnown = false
  }
  return isKnown ? true : undefined
}
