/** What must hold for a change: types that a plugin of the server writes take none, others get the guard of the ruling. */
import type { Interaction, RequestContext, Ruling } from '../../../kernel/index.ts'
import type { MaybePromise } from '../../database/service.ts'
import { type ChangeRights, UNGUARDED, type WriteGuard } from '../../storage/service.ts'
import type { View } from '../view.ts'
import type { ServerOwnedTypes } from './owned-types.ts'

/** A JSON Patch can test what is there, so a patch needs the right to read as well. */
const RIGHTS: Readonly<Partial<Record<Interaction['kind'], ChangeRights>>> = {
  create: ['c'],
  update: ['u'],
  patch: ['u', 'r'],
  delete: ['d'],
}

/** The guard of a change. Throws 405 for a type that is the server's. */
export type GuardChange = (
  view: Pick<View, 'access'>,
  request: RequestContext,
  ruling: Ruling,
  about: Pick<Interaction, 'kind' | 'type'>,
) => MaybePromise<WriteGuard>

export const createGuardChange =
  (owned: Pick<ServerOwnedTypes, 'check'>): GuardChange =>
  ({ access }, request, ruling, { kind, type = '' }) => {
    const rights = RIGHTS[kind]
    // An operation says what it changes, and each of these changes gets a guard of its own.
    if (rights === undefined) return UNGUARDED
    owned.check(type)
    return access.guardFor(request, ruling, type, rights)
  }
