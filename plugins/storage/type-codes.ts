/** Numbers resource types. A type gets its code at the first start after a package with it was installed, and keeps it forever. */
import { type AloneOptions, type Database, type Transaction, whenStored } from '../database/service.ts'
import { insertType, readTypes } from './tables.ts'

export interface TypeCodes {
  /** The code of a type; undefined if no package with it was ever installed. */
  code(name: string): number | undefined
  name(code: number): string
}

/** Loads the codes and assigns one to each of `names` that has none; a server that only reads waits for them. */
export const loadTypeCodes = async (
  database: Database,
  names: readonly string[],
  { signal, onWait }: Pick<AloneOptions, 'signal' | 'onWait'> = {},
): Promise<TypeCodes> => {
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
  if (database.isReader) await whenStored(signal, async () => (await read(database)).length === 0 || undefined, onWait)
  else if ((await read(database)).length > 0)
    await database.transact(async (transaction) => {
      // Another server on the same database may be assigning codes too: wait for it, then read again.
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
