import { type Database, whenStored } from '../../database/service.ts'
import type { ClientParameterRow } from '../definition/client-parameters.ts'
import type { SearchDefinitions } from '../definition/stored-definitions.ts'
import { type ColumnRow, isSettled, settleColumns } from './columns.ts'
import { CONTAINED_OFFSET } from './contained/key-space.ts'
import type { Waiting } from './settings.ts'
import { POSTING, readHeldTypes, readIndexColumns, readPosted } from './tables.ts'

/**
 * Writes the columns of the definitions to the database: known ones keep their codes, new ones get one. Resolves to
 * false when everything has to be read again. `posted`: the JSON of the posted rows that `model` was made of. A server
 * that only reads waits until another one has written them.
 */
export const settleDefinitions = async (
  database: Database,
  model: SearchDefinitions,
  posted: string,
  codeOf: (type: string) => number | undefined,
  waiting: Waiting,
): Promise<boolean> => {
  const isWritten = async (): Promise<boolean> =>
    isSettled(model.columns, await database.all<ColumnRow>(readIndexColumns, []))
  if (await isWritten()) return true
  if (database.isReader) {
    // A SearchParameter that was posted meanwhile changes what is waited for.
    const look = async (): Promise<'written' | 'other' | undefined> => {
      if (await isWritten()) return 'written'
      return JSON.stringify(await database.all<ClientParameterRow>(readPosted, [])) === posted ? undefined : 'other'
    }
    return (await whenStored(waiting.signal, look, waiting.onWait)) === 'written'
  }
  const rows = await database.all<{ code: number }>(readHeldTypes, [CONTAINED_OFFSET])
  const held = new Set(rows.map(({ code }) => code))
  await database.transact(async (transaction) => {
    // The lock keeps other servers from posting SearchParameters whose columns would be marked GONE here.
    await transaction.hold(POSTING)
    if (JSON.stringify(await transaction.all<ClientParameterRow>(readPosted, [])) !== posted) return
    const isFirst = (await transaction.all<ColumnRow>(readIndexColumns, [])).length === 0
    // On PostgreSQL another server may be creating the first resource of a type, so no type counts as empty after
    // the first start.
    const isAlone = isFirst || database.kind !== 'postgres'
    await settleColumns(transaction, model.columns, (type) => isAlone && !held.has(codeOf(type) ?? 0))
  })
  return false
}
