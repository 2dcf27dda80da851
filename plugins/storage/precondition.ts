/** If-Match, If-None-Match and If-Unmodified-Since against the current version. RFC 9110, section 13.1. */

import type { Change } from './change.ts'
import { Exists, ModifiedSince, NoMatch, VersionConflict } from './errors.ts'
import type { StoredVersion } from './version.ts'

/** Throws 412 when the current version is not what the request expects. RFC 9110, section 13.1. */
export const checkPrecondition = (
  change: Pick<Change, 'precondition' | 'type' | 'id'>,
  previous: StoredVersion | undefined,
): void => {
  const { precondition, type, id } = change
  if (precondition === undefined) return
  const exists = previous !== undefined && !previous.deleted
  const { unmodifiedSince } = precondition
  // What is not there has no date, and then the condition is ignored. An HTTP date has whole seconds.
  if (unmodifiedSince !== undefined && exists && Math.floor(previous.lastUpdated / 1000) * 1000 > unmodifiedSince)
    throw ModifiedSince(type, id, new Date(previous.lastUpdated).toUTCString())
  if (precondition.ifNoneMatch === true && exists) throw Exists(type, id)
  if (precondition.ifMatch === undefined) return
  if (!exists) throw NoMatch(type, id)
  if (precondition.ifMatch !== '*' && !precondition.ifMatch.includes(previous.version))
    throw VersionConflict(type, id, previous.version)
}
