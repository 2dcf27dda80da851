/** Types that a plugin of the server writes and nobody else: clients read them only. */
import { ReadElsewhere, ServerOwned, TypeOwnedTwice } from '../errors.ts'

interface Owned {
  readonly why: string
  readonly readAt: string | undefined
}

export interface ServerOwnedTypes {
  /**
   * In setup only. `why` follows the name of the type in the refusal: `is written by the audit trail`. `readAt`: the type is
   * not stored as resources, and this says where it is read: `GET /_audit`.
   */
  add(type: string, why: string, readAt?: string): void
  has(type: string): boolean
  /** Types that are read at addresses of their own. */
  readonly readElsewhere: ReadonlySet<string>
  /** Throws 405 for a change of an owned type. */
  check(type: string): void
  /** Throws 400 for a type that is read elsewhere: an empty answer would say that there is none. */
  checkRead(type: string): void
}

export const createServerOwnedTypes = (): ServerOwnedTypes => {
  const types = new Map<string, Owned>()
  const readElsewhere = new Set<string>()
  return {
    add(type, why, readAt) {
      if (types.has(type)) throw TypeOwnedTwice(type)
      types.set(type, { why, readAt })
      if (readAt !== undefined) readElsewhere.add(type)
    },
    has: (type) => types.has(type),
    readElsewhere,
    check(type) {
      const owned = types.get(type)
      if (owned !== undefined) throw ServerOwned(type, owned.why).with({ headers: { allow: 'GET, HEAD' } })
    },
    checkRead(type) {
      const readAt = types.get(type)?.readAt
      if (readAt !== undefined) throw ReadElsewhere(type, readAt)
    },
  }
}
