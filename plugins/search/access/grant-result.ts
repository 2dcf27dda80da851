/** What compiled grants say of a version. */
import type { StoredVersion } from '../../storage/service.ts'
import type { ClauseSubject } from '../query/clause.ts'
import type { CompiledGrants } from './compiled-grants.ts'

/** Undefined where only the index can tell. */
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
