/** Types that a plugin of the server writes and nobody else: clients read them only. */
import type { Interaction, RequestContext, Ruling } from '../../../kernel/index.ts'
import type { Eventually } from '../../database/service.ts'
import { type ChangeRights, UNGUARDED, type WriteGuard } from '../../storage/write-guard.ts'
import { ServerOwned, TypeOwnedTwice } from '../errors.ts'
import type { FhirServer } from '../parts.ts'

export interface OwnedTypes {
  /** In setup only. `why` follows the name of the type in the refusal: `is written by the audit trail`. */
  add(type: string, why: string): void
  has(type: string): boolean
  /** Throws 405 for a change of an owned type. */
  check(type: string): void
}

export const createOwnedTypes = (): OwnedTypes => {
  const reasons = new Map<string, string>()
  return {
    add(type, why) {
      if (reasons.has(type)) throw TypeOwnedTwice(type)
      reasons.set(type, why)
    },
    has: (type) => reasons.has(type),
    check(type) {
      const why = reasons.get(type)
      if (why !== undefined) throw ServerOwned(type, why).with({ headers: { allow: 'GET, HEAD' } })
    },
  }
}

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
): Eventually<WriteGuard> => {
  const rights = RIGHTS[kind]
  // An operation says what it changes, and each of these changes gets a guard of its own.
  if (rights === undefined) return UNGUARDED
  owned.check(type)
  return evaluator.guardFor(request, ruling, type, rights)
}
