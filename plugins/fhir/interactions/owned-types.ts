/** Types that only a plugin of the server writes. Clients can read them. */
import { ServerOwned, TypeOwnedTwice } from '../errors.ts'

export interface ServerOwnedTypes {
  /** In setup only. `why` follows the name of the type in the refusal: `is written by the audit trail`. */
  add(type: string, why: string): void
  has(type: string): boolean
  /** Throws 405 for a change of an owned type. */
  check(type: string): void
}

export const createServerOwnedTypes = (): ServerOwnedTypes => {
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
