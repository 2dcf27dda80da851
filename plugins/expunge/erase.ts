/** Erases resources: deletes what is there as every deletion does, and its past versions in the same transaction. */
import type { MaybePromise, Transaction } from '../database/service.ts'
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

/** What the work of a job does in the transaction that erases. Either may be called again, as the transaction may run twice. */
export interface EraseInJob {
  /** Awaited first. */
  fence(transaction: Transaction): Promise<void>
  /** Called for each resource of which content was erased: the audit trail gets an event of it, in the same commit. */
  record(transaction: Transaction, erased: Named): MaybePromise<void>
}

/**
 * Erases all content of some resources, in one transaction. Returns how many versions were erased.
 * Throws 404 for a resource that never was, 409 where others refer to one of them.
 */
export const eraseAll = async (
  { session, storage }: ErasePart,
  resources: readonly Named[],
  inJob?: EraseInJob,
): Promise<number> => {
  let erased = 0
  const deletions = resources.map(({ type, id }) => ({ kind: 'delete', type, id }) as const)
  await session.change(deletions, async (transaction) => {
    erased = 0
    await inJob?.fence(transaction)
    for (const one of resources) {
      const { type, id } = one
      const past = await storage.write.erasePast(transaction, type, id)
      if (past === undefined) throw NotFound(type, id)
      erased += past
      const recording = past > 0 ? inJob?.record(transaction, one) : undefined
      if (recording !== undefined) await recording
    }
  })
  return erased
}
