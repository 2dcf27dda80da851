/** Checks If-Match, If-None-Match and If-Unmodified-Since against the current version. RFC 9110, section 13.1. */

import type { Change } from './change.ts'
import { Exists, ModifiedSince, NoMatch, VersionConflict } from './errors.ts'
import type { StoredVersion } from './version.ts'

/** Throws 412 if the current version does not meet the conditions of the request. */
export const checkPrecondition = (
  change: Pick<Change, 'precondition' | 'type' | 'id'>,
  previous: StoredVersion | undefined,
): void => {
  const { precondition, type, id } = change
  if (precondition === undefined) return
  const exists = previous !== undefined && !previous.deleted
  const { unmodifiedSince } = precondition
  // A resource that does not exist has no date, so the condition is ignored. An HTTP date has a precision of seconds.
  if (unmodifiedSince !== undefined && exists && Math.floor(previous.lastUpdated / 1000) * 1000 > unmodifiedSince)
    throw ModifiedSince(type, id, new Date(previous.lastUpdated).toUTCString())
  if (precondition.ifNoneMatch === true && exists) throw Exists(type, id)
  if (precondition.ifMatch === undefined) return
  if (!exists) throw NoMatch(type, id)
  if (precondition.ifMatch !== '*' && !precondition.ifMatch.includes(previous.version))
    throw VersionConflict(type, id, previous.version)
}
