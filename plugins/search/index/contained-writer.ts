/** Writes the index rows of contained resources. */
import type { Transaction } from '../../database/service.ts'
import type { StoredVersion } from '../../storage/service.ts'
import { NO_ROWS } from './contained/contained-entries.ts'
import { CONTAINED_OFFSET, containedRid } from './contained/key-space.ts'
import type { DisplayWriter } from './display-writer.ts'
import type { ContainedList } from './index-findings.ts'
import { collect, insert, type Put, remove, without } from './index-row-writes.ts'
import type { Registry } from './registry.ts'
import { deleteResourceRow, INDEX_KINDS, insertResourceRow } from './tables.ts'

export type ContainedWriter = ReturnType<typeof createContainedWriter>

export const createContainedWriter =
  (registry: Registry, codeOf: (type: string) => number | undefined, displays: DisplayWriter) =>
  /** Writes the difference of two lists of contained resources, compared by their index in `contained`. */
  (
    transaction: Transaction,
    promises: Promise<void>[],
    { rid: holder, type: holderType, id: holderId }: Pick<StoredVersion, 'rid' | 'type' | 'id'>,
    now: ContainedList,
    before: ContainedList,
    put: Put,
  ): void => {
    for (let at = 0; at < Math.max(now.length, before.length); at += 1) {
      const rid = containedRid(holder, at)
      const [one, other] = [now[at], before[at]]
      for (const kind of INDEX_KINDS) {
        const [values, old] = [(one?.rows ?? NO_ROWS)[kind], (other?.rows ?? NO_ROWS)[kind]]
        remove(transaction, promises, kind, without(kind, old, values), rid)
        insert(transaction, promises, kind, without(kind, values, old), rid, put)
      }
      if (other !== undefined && other.type !== one?.type)
        collect(promises, transaction.run(deleteResourceRow, [(codeOf(other.type) ?? 0) - CONTAINED_OFFSET, rid]))
      if (one === undefined) continue
      const { type, id, masks, rows } = one
      const ref = registry.hasher.long(`${holderType}/${holderId}#${id}`)
      const code = (codeOf(type) ?? 0) - CONTAINED_OFFSET
      collect(promises, put(transaction, insertResourceRow, [code, rid, ref, masks[0]!, masks[1]!, masks[2]!]))
      displays.write(transaction, promises, rows, put)
    }
  }
