/** Which of the found resources the caller may see, and their content. */
import type { Right } from '../../../kernel/index.ts'
import type { StoredVersion, TypeCodes } from '../../storage/service.ts'
import type { AccessFilter } from '../access/access-filter.ts'
import type { TypeConditions } from '../query/clause-sql.ts'
import type { Deadline } from './deadline.ts'
import type { Executor } from './executor.ts'
import type { IncludedKey } from './include-statements.ts'

export const createIncludedContent = (executor: Executor, types: TypeCodes) => {
  const codeOf = (type: string): number => types.code(type) ?? 0

  /** Resource keys of those that the right applies to. */
  const filter = async (
    held: ReadonlyMap<number, IncludedKey>,
    right: Right,
    access: AccessFilter,
    deadline: Deadline,
  ): Promise<readonly number[]> => {
    if (access.isUnrestricted) return [...held.keys()]
    const allowed: number[] = []
    for (const [type, list] of Map.groupBy(held.values(), (one) => one.type)) {
      const conditions = await access.conditions(type, right)
      if (conditions === undefined) continue
      const rids = list.map(({ rid }) => rid)
      if (conditions.length === 0) allowed.push(...rids)
      else allowed.push(...(await executor.filter({ type: codeOf(type), conditions }, rids, deadline)))
    }
    return allowed
  }

  /**
   * Reads the resources to return. Access is checked again in that statement, because they may have changed since
   * they were found.
   */
  const contentOf = async (
    shown: readonly { readonly held: IncludedKey; readonly right: Right }[],
    access: AccessFilter,
    deadline: Deadline,
  ): Promise<readonly StoredVersion[]> => {
    const rids = shown.map(({ held }) => held.rid)
    if (access.isUnrestricted) return executor.versions(rids, deadline)
    const read = new Map<number, StoredVersion>()
    for (const [right, list] of Map.groupBy(shown, (one) => one.right)) {
      const required: TypeConditions[] = []
      for (const type of new Set(list.map(({ held }) => held.type))) {
        const conditions = await access.conditions(type, right)
        if (conditions !== undefined) required.push({ type: codeOf(type), conditions })
      }
      const some = list.map(({ held }) => held.rid)
      for (const version of await executor.versions(some, deadline, required)) read.set(version.rid, version)
    }
    return rids.flatMap((rid) => read.get(rid) ?? [])
  }

  return { filter, contentOf }
}
