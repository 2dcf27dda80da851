/**
 * A change made from the version that is there: a patch, an operation on the labels. Made and examined before the
 * transaction, and made anew inside it when others were faster, so that no change is lost.
 */
import type { Interaction, Issue, RequestContext } from '../../../kernel/index.ts'
import { Contended, Deleted, NotFound } from '../errors.ts'
import { type Incoming, readIncoming } from '../incoming.ts'
import type { Permit } from '../search/judge.ts'
import type { FhirServer } from '../server.ts'
import type { Change, Precondition } from '../store/change.ts'
import { checkPrecondition } from '../store/check-precondition.ts'
import type { StoredVersion } from '../store/version.ts'
import { examine } from './examine.ts'

export interface Revision {
  readonly request: RequestContext
  readonly interaction: Interaction
  readonly type: string
  readonly id: string
  readonly permit: Permit
  readonly precondition?: Precondition | undefined
  /** Gets what the checks say without refusing it. */
  readonly warnings?: Issue[] | undefined
  /** The next version from the current one; undefined leaves it as it is. Throws 4xx. */
  revise(json: string, current: StoredVersion): string | undefined
}

/** Throws 404, 410, 412 and what `revise` and the checks throw. */
export const toRevision = async (server: FhirServer, revision: Revision): Promise<Change> => {
  const { request, interaction, type, id, permit, precondition, warnings } = revision
  const make = (current: StoredVersion): Incoming | undefined => {
    const json = revision.revise(current.text, current)
    return json === undefined ? undefined : readIncoming(server, Buffer.from(json), type, id)
  }
  const base = await server.store.read(type, id)
  if (base === undefined) throw NotFound(type, id)
  permit.check(id, base, undefined)
  checkPrecondition({ type, id, precondition }, base)
  if (base.deleted) throw Deleted(type, id)
  const content = make(base)
  if (content !== undefined) await examine(server, request, interaction, content, warnings)
  return {
    kind: 'revise',
    interaction,
    type,
    id,
    permit,
    precondition,
    base,
    content,
    redo(current) {
      const again = make(current)
      if (warnings !== undefined) warnings.length = 0
      const examined = again === undefined ? undefined : examine(server, request, interaction, again, warnings)
      if (examined !== undefined) {
        // What waits cannot be asked here: all begins anew, and this answer is nobody's.
        examined.catch(() => undefined)
        throw Contended()
      }
      return again
    },
  }
}
