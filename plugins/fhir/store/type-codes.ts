/** Resource types as small integers: given at start, when a package brings the type, and kept for good. */
import type { Database } from '../../database/service.ts'
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
  for (const { code, name } of await database.all<{ code: number; name: string }>(readTypes, [])) remember(code, name)
  const missing = names.filter((name) => !codeOf.has(name))
  if (missing.length > 0) {
    const first = Math.max(0, ...nameOf.keys()) + 1
    await database.transact(async (transaction) => {
      for (const [at, name] of missing.entries()) await transaction.run(insertType, [first + at, name])
    })
    for (const [at, name] of missing.entries()) remember(first + at, name)
  }
  return { code: (name) => codeOf.get(name), name: (code) => nameOf.get(code) ?? '' }
}
