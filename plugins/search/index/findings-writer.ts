/** Writes the index rows that a thread has extracted from a large resource. */
import { createPause } from '../../../kernel/index.ts'
import { insertImmediately, type MaybePromise, type Transaction } from '../../database/service.ts'
import { StaleFindings, type StoredVersion } from '../../storage/service.ts'
import type { ChangeCounters } from './change-counters.ts'
import type { ContainedWriter } from './contained-writer.ts'
import type { DisplayWriter } from './display-writer.ts'
import type { IndexFindings } from './index-findings.ts'
import { collect, insert, putLater, remove } from './index-row-writes.ts'
import type { Registry } from './registry.ts'
import { deleteResourceRow, INDEX_KINDS, insertResourceRow } from './tables.ts'

export interface FindingsWriterParts {
  readonly registry: Registry
  readonly codeOf: (type: string) => number | undefined
  readonly compareLayout: (transaction: Transaction) => MaybePromise<void>
  readonly changes: ChangeCounters | undefined
  readonly displays: DisplayWriter
  readonly writeContained: ContainedWriter
}

export const createFindingsWriter =
  ({ registry, codeOf, compareLayout, changes, displays, writeContained }: FindingsWriterParts) =>
  /** Writes the rows of a large resource in parts, with other work of the main thread in between. */
  async (transaction: Transaction, next: StoredVersion, isThere: boolean, findings: IndexFindings): Promise<void> => {
    // The columns have changed since the thread extracted the rows: the write is retried from the beginning.
    const { rid, type, id } = next
    const { before, added, masks, keys, contained: containedNow } = findings
    const types = [...containedNow, ...(before?.contained ?? [])].flatMap((one) =>
      one === undefined ? [] : [one.type],
    )
    if (!registry.hasSameRows(findings.source, [...new Set([type, ...types])])) throw StaleFindings()
    const code = codeOf(type) ?? 0
    const put = before === undefined ? putLater : insertImmediately
    const pause = createPause()
    changes?.recordKeys(next, keys)
    changes?.recorded(transaction, next)
    const promises: Promise<void>[] = []
    collect(promises, compareLayout(transaction))
    const finish = async (): Promise<void> => {
      if (promises.length > 0) await Promise.all(promises.splice(0))
      await pause()
    }
    if (isThere) {
      const ref = registry.hasher.long(`${type}/${id}`)
      collect(promises, put(transaction, insertResourceRow, [code, rid, ref, masks[0]!, masks[1]!, masks[2]!]))
    } else collect(promises, transaction.run(deleteResourceRow, [code, rid]))
    const contained = { now: findings.contained, before: before?.contained ?? [] }
    if (contained.now.length + contained.before.length > 0)
      writeContained(transaction, promises, next, contained.now, contained.before, put)
    for (const rows of before?.removed ?? []) {
      for (const kind of INDEX_KINDS) remove(transaction, promises, kind, rows[kind], rid)
      await finish()
    }
    const displayed: number[] = []
    for (const rows of added) {
      for (const kind of INDEX_KINDS) insert(transaction, promises, kind, rows[kind], rid, put)
      if (rows.text.length > 0) displayed.push(...displays.write(transaction, promises, rows, put))
      await finish()
    }
    if (displayed.length > 0) displays.note(next, displayed)
    await finish()
  }
