import type { Change, NewContent } from './change.ts'
import { Deleted, NotFound, UpdateAsCreateOff } from './errors.ts'
import type { StoredVersion } from './version.ts'

/** The methods that remain for the address of a missing resource; a 405 must list them. RFC 9110, section 15.5.6. */
const NOTHING_THERE = { headers: { allow: 'GET, HEAD, DELETE' } }

/** The content to store; undefined if the change deletes or changes nothing. Throws 404, 405 or 410 if no resource is there. */
export const contentOf = (change: Change, previous: StoredVersion | undefined): NewContent | undefined => {
  if (change.kind === 'delete') return undefined
  const { type, id } = change
  if (change.kind !== 'modify') {
    const creates = previous === undefined || previous.deleted
    if (change.kind === 'update' && creates && !change.mayCreate)
      throw UpdateAsCreateOff(type, id, type).with(NOTHING_THERE)
    if (change.kind === 'update' && !creates) change.checkReplaced?.(previous)
    return change
  }
  if (previous === undefined) throw NotFound(type, id)
  if (previous.deleted) throw Deleted(type, id)
  return previous.version === change.base.version ? change.content : change.rebase(previous)
}
