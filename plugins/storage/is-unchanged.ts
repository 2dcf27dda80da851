/**
 * Decides whether a change would store the same content again. If so, no new version is made, and a client that sends the same
 * resource again adds nothing to its history. R4 allows both: https://hl7.org/fhir/R4/http.html#update
 */
import { storedLength } from './body/body.ts'
import type { NewContent } from './change.ts'
import type { Findings } from './findings.ts'
import type { StoredVersion } from './version.ts'
import { toInstant } from './version-time.ts'

/**
 * Compares the texts; `meta.versionId` and `meta.lastUpdated` may differ. `content` is undefined for a modification that
 * changes nothing. If `findings` are about `current`, their comparison by a worker thread is used.
 */
export const isUnchanged = (
  current: StoredVersion,
  content: NewContent | undefined,
  findings: Findings | undefined,
): boolean => {
  if (content === undefined) return true
  if (findings?.before?.version === current.version) return findings.before.isSame
  const text = content.template.fill(current.id, current.version, toInstant(current.versionTime))
  // Most changes alter the length, which is known without decompressing the stored body.
  const length = storedLength(current.bytes, current.encoding)
  return (length === undefined || length === Buffer.byteLength(text)) && text === current.text
}
