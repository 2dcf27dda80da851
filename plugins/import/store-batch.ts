/** Stores records together, and divides them where some of them are refused. */
import { isServerError } from '../../kernel/index.ts'
import type { MaybePromise, Transaction } from '../database/service.ts'
import type { Session } from '../fhir/service.ts'
import type { ImportRecord } from './read-records.ts'
import { addRange } from './tables.ts'
import { type ImportStep, toStep } from './to-step.ts'

export interface BatchRecord extends ImportRecord {
  readonly step: ImportStep
}

export interface StoreParts {
  readonly session: Pick<Session, 'change' | 'transaction'>
  /** The id of the source. */
  readonly source: string
  /** The only type that its records may have. */
  readonly type: string | undefined
  readonly isDryRun: boolean
  readonly fence: ((transaction: Transaction) => MaybePromise<void>) | undefined
  /** Called for a record that is refused. */
  readonly refused: (record: ImportRecord, error: unknown) => MaybePromise<void>
}

/** Thrown inside a transaction of a dry run, when all checks have passed. */
class DryRunEnd extends Error {}

const sizeOf = ({ step }: BatchRecord): number => (step.kind === 'change' ? 1 : step.resources)

/** True for what the content of a record causes; all else ends the import. */
export const isRefusal = (error: unknown): boolean => isServerError(error) && error.status < 500

/**
 * Stores a group in one transaction, which also records that it is done. A transaction Bundle is a group by itself. Returns
 * the number of its resources.
 */
const storeTogether = async (
  { session, source, isDryRun, fence }: StoreParts,
  group: readonly BatchRecord[],
): Promise<number> => {
  const resources = group.reduce((all, record) => all + sizeOf(record), 0)
  const beside = async (transaction: Transaction): Promise<void> => {
    if (isDryRun) throw new DryRunEnd()
    await fence?.(transaction)
    await transaction.run(addRange, [source, group[0]!.number, group.at(-1)!.number, resources, 0])
  }
  try {
    const [{ step }] = group as [BatchRecord]
    if (step.kind === 'transaction') await session.transaction(step.json, beside)
    else
      await session.change(
        group.flatMap((one) => (one.step.kind === 'change' ? [one.step.change] : [])),
        beside,
      )
  } catch (error) {
    if (!(error instanceof DryRunEnd)) throw error
  }
  return resources
}

/** Halves a group that is refused until the records are alone that cannot be stored. Returns what was stored. */
const storeGroup = async (parts: StoreParts, group: readonly BatchRecord[]): Promise<number> => {
  try {
    return await storeTogether(parts, group)
  } catch (error) {
    if (!isRefusal(error)) throw error
    const [first] = group as [BatchRecord]
    if (group.length === 1) {
      await parts.refused(first, error)
      return 0
    }
    const half = Math.ceil(group.length / 2)
    const stored = await storeGroup(parts, group.slice(0, half))
    return stored + (await storeGroup(parts, group.slice(half)))
  }
}

/** Records with numbers that follow each other and can share a transaction. */
const toGroups = (records: readonly BatchRecord[]): readonly BatchRecord[][] => {
  const groups: BatchRecord[][] = []
  for (const record of records) {
    const last = groups.at(-1)
    const before = last?.at(-1)
    const follows =
      before?.number === record.number - 1 && before.step.kind === 'change' && record.step.kind === 'change'
    if (follows) last!.push(record)
    else groups.push([record])
  }
  return groups
}

/** Returns the number of resources that were stored. Throws 5xx. */
export const storeBatch = async (parts: StoreParts, records: readonly ImportRecord[]): Promise<number> => {
  const ready: BatchRecord[] = []
  for (const record of records)
    try {
      if (record.fault !== undefined) throw record.fault
      ready.push({ ...record, step: toStep(record.json, parts.type) })
    } catch (error) {
      if (!isRefusal(error)) throw error
      await parts.refused(record, error)
    }
  let stored = 0
  for (const group of toGroups(ready)) stored += await storeGroup(parts, group)
  return stored
}
