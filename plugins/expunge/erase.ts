/** Erases resources: deletes what is there as every deletion does, and its past versions in the same transaction. */
import type { Transaction } from '../database/service.ts'
import type { Session } from '../fhir/service.ts'
import { NotFound, type Storage } from '../storage/service.ts'

export interface Named {
  readonly type: string
  readonly id: string
}

export interface ErasePart {
  readonly session: Pick<Session, 'change'>
  readonly storage: Pick<Storage, 'write'>
}

/**
 * Erases all content of some resources, in one transaction. `fence` is awaited in it. Returns how many versions were erased.
 * Throws 404 for a resource that never was, 409 where others refer to one of them.
 */
export const eraseAll = async (
  { session, storage }: ErasePart,
  resources: readonly Named[],
  fence?: (transaction: Transaction) => Promise<void>,
): Promise<number> => {
  let erased = 0
  const deletions = resources.map(({ type, id }) => ({ kind: 'delete', type, id }) as const)
  await session.change(deletions, async (transaction) => {
    erased = 0
    await fence?.(transaction)
    for (const { type, id } of resources) {
      const past = await storage.write.erasePast(transaction, type, id)
      if (past === undefined) throw NotFound(type, id)
      erased += past
    }
  })
  return erased
}
