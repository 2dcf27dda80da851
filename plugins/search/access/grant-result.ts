/** What compiled grants say of a version. */
import type { StoredVersion } from '../../storage/service.ts'
import type { Subject } from '../query/clause.ts'
import type { CompiledGrants } from './compiled-grants.ts'

/** Undefined where only the index can tell. */
export const grantResult = (
  compiled: readonly CompiledGrants[],
  version: StoredVersion,
  subjectOf: (version: StoredVersion) => Subject,
): boolean | undefined => {
  let subject: Subject | undefined
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
