/** Types that a plugin of the server writes and nobody else: clients read them only. */
import type { Interaction, RequestContext, Ruling } from '../../kernel/index.ts'
import { ServerOwned, TypeOwnedTwice } from './errors.ts'
import type { Permit } from './search/judge.ts'
import type { FhirServer } from './server.ts'

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

/** What a change of a type has to meet. Throws 405 for a type that is the server's. */
export const permitChange = (
  { owned, judge }: FhirServer,
  request: RequestContext,
  ruling: Ruling,
  { kind, type = '' }: Pick<Interaction, 'kind' | 'type'>,
): Permit | Promise<Permit> => {
  // An operation on a type changes what it says it does, and is asked for each of that.
  if (kind !== 'operation') owned.check(type)
  return judge.permit(request, ruling, type)
}
