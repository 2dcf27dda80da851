/** Types that a plugin of the server writes and nobody else: clients read them only. */
import type { Interaction, RequestContext, Ruling } from '../../../kernel/index.ts'
import type { MaybePromise } from '../../database/service.ts'
import { type ChangeRights, UNGUARDED, type WriteGuard } from '../../storage/service.ts'
import type { FhirServer } from '../parts.ts'

/** A JSON Patch can test what is there, so a patch needs the right to read as well. */
const RIGHTS: Readonly<Partial<Record<Interaction['kind'], ChangeRights>>> = {
  create: ['c'],
  update: ['u'],
  patch: ['u', 'r'],
  delete: ['d'],
}

/** The guard of a change. Throws 405 for a type that is the server's. */
export const guardChange = (
  { owned, evaluator }: FhirServer,
  request: RequestContext,
  ruling: Ruling,
  { kind, type = '' }: Pick<Interaction, 'kind' | 'type'>,
): MaybePromise<WriteGuard> => {
  const rights = RIGHTS[kind]
  // An operation says what it changes, and each of these changes gets a guard of its own.
  if (rights === undefined) return UNGUARDED
  owned.check(type)
  return evaluator.guardFor(request, ruling, type, rights)
}
