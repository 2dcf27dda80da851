/**
 * Makes the guard of a change. Changes of types that only the server writes are refused; the others get a guard from
 * the ruling.
 */
import type { Interaction, RequestContext, Ruling } from '../../../kernel/index.ts'
import type { MaybePromise } from '../../database/service.ts'
import { type ChangeRights, UNGUARDED, type WriteGuard } from '../../storage/service.ts'
import type { View } from '../view.ts'
import type { ServerOwnedTypes } from './owned-types.ts'

/** A JSON Patch can test the values of a resource, so a patch needs the right to read as well. */
const RIGHTS: Readonly<Partial<Record<Interaction['kind'], ChangeRights>>> = {
  create: ['c'],
  update: ['u'],
  patch: ['u', 'r'],
  delete: ['d'],
}

/** Throws 405 for a type that only the server writes, and an id that only it gives. */
export type GuardChange = (
  view: Pick<View, 'access'>,
  request: RequestContext,
  ruling: Ruling,
  about: Pick<Interaction, 'kind' | 'type' | 'id'>,
) => MaybePromise<WriteGuard>

export const createGuardChange =
  (owned: Pick<ServerOwnedTypes, 'check'>): GuardChange =>
  ({ access }, request, ruling, { kind, type = '', id }) => {
    const rights = RIGHTS[kind]
    // An operation returns its changes, and each of them gets its own guard.
    if (rights === undefined) return UNGUARDED
    owned.check(type, id)
    return access.guardFor(request, ruling, type, rights)
  }
