/** Types that only a plugin of the server writes, and ids that only it gives. Clients can read them. */
import type { BesideResources } from '../beside.ts'
import { ReadElsewhere, ServerOwned, TypeOwnedTwice } from '../errors.ts'

interface Owned {
  readonly why: string
  readonly readAt: string | undefined
}

export interface ServerOwnedTypes {
  /**
   * In setup only. `why` follows the name of the type in the refusal: `is written by the audit trail`. `readAt` is given
   * for a type that is not stored as resources, and says where to read it: `GET /_audit`.
   */
  add(type: string, why: string, readAt?: string): void
  has(type: string): boolean
  /** Types that are not stored as resources, but read at other addresses. */
  readonly readElsewhere: ReadonlySet<string>
  /** In setup only: resources whose ids nobody may write. */
  reserve(ids: Pick<BesideResources, 'isReserved' | 'refuse'>): void
  /** Throws 405 for a change of an owned type, or of a resource with a reserved id. */
  check(type: string, id?: string): void
  /** Throws 400 for a type in `readElsewhere`: an empty answer would mean that there are no such resources. */
  checkRead(type: string): void
}

export const createServerOwnedTypes = (): ServerOwnedTypes => {
  const types = new Map<string, Owned>()
  const readElsewhere = new Set<string>()
  let reserved: Pick<BesideResources, 'isReserved' | 'refuse'> | undefined
  return {
    add(type, why, readAt) {
      if (types.has(type)) throw TypeOwnedTwice(type)
      types.set(type, { why, readAt })
      if (readAt !== undefined) readElsewhere.add(type)
    },
    has: (type) => types.has(type),
    readElsewhere,
    reserve(ids) {
      reserved = ids
    },
    check(type, id) {
      if (id !== undefined && reserved?.isReserved(type, id) === true)
        throw reserved.refuse(type, id).with({ headers: { allow: 'GET, HEAD' } })
      const owned = types.get(type)
      if (owned !== undefined) throw ServerOwned(type, owned.why).with({ headers: { allow: 'GET, HEAD' } })
    },
    checkRead(type) {
      const readAt = types.get(type)?.readAt
      if (readAt !== undefined) throw ReadElsewhere(type, readAt)
    },
  }
}
