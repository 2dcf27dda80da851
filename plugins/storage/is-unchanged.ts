/**
 * Would a change store the bytes that are stored already? Then it makes no new version: a client that sends the same resource
 * again leaves no trace in its history. R4 leaves that to the server: https://hl7.org/fhir/R4/http.html#update
 */
import { storedLength } from './body/body.ts'
import type { NewContent } from './change.ts'
import type { Findings } from './findings.ts'
import type { StoredVersion } from './version.ts'
import { toInstant } from './version-time.ts'

/** `content` undefined stands for one that leaves it as it is. A thread has compared large ones. Only `meta.versionId` and `meta.lastUpdated` may differ. */
export const isUnchanged = (
  current: StoredVersion,
  content: NewContent | undefined,
  findings: Findings | undefined,
): boolean => {
  if (content === undefined) return true
  if (findings?.before?.version === current.version) return findings.before.isSame
  const text = content.template.fill(current.id, current.version, toInstant(current.versionTime))
  // Most changes are told by their length, without unpacking what is stored.
  const length = storedLength(current.bytes, current.encoding)
  return (length === undefined || length === Buffer.byteLength(text)) && text === current.text
}
