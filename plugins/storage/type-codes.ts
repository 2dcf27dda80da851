/** Resource types as small integers: given at start, when a package brings the type, and kept for good. */
import type { Database, Transaction } from '../database/service.ts'
import { insertType, readTypes } from './tables.ts'

export interface TypeCodes {
  /** The code of a type, or undefined when no package ever brought it. */
  code(name: string): number | undefined
  name(code: number): string
}

/** Loads the codes and gives new ones to those of `names` that have none. */
export const loadTypeCodes = async (database: Database, names: readonly string[]): Promise<TypeCodes> => {
  const codeOf = new Map<string, number>()
  const nameOf = new Map<number, string>()
  const remember = (code: number, name: string): void => {
    codeOf.set(name, code)
    nameOf.set(code, name)
  }
  const read = async (source: Pick<Transaction, 'all'>): Promise<readonly string[]> => {
    for (const { code, name } of await source.all<{ code: number; name: string }>(readTypes, [])) remember(code, name)
    return names.filter((name) => !codeOf.has(name))
  }
  if ((await read(database)).length > 0)
    await database.transact(async (transaction) => {
      // Another server of the same database may be giving codes at this moment.
      await transaction.hold('resource-types')
      codeOf.clear()
      nameOf.clear()
      const missing = await read(transaction)
      const first = Math.max(0, ...nameOf.keys()) + 1
      for (const [at, name] of missing.entries()) {
        await transaction.run(insertType, [first + at, name])
        remember(first + at, name)
      }
    })
  return { code: (name) => codeOf.get(name), name: (code) => nameOf.get(code) ?? '' }
}
