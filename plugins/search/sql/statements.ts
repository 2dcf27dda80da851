/** A cache of statements by their text, which is bounded. */
import { type Sql, sql } from '../../database/service.ts'
import { SearchTooCostly } from '../errors.ts'

const MAX_STATEMENTS = 1_000
// SQLite compiles a statement on the main thread, in a time that grows faster than its length.
export const MAX_CHARS = 200_000
export const MAX_PARAMS = 32_766 // of SQLite; of PostgreSQL 65,535

/** Throws 400 where no database could run the statement, or compiling it alone would take seconds. */
const checkSize = (text: string): void => {
  if (text.length <= MAX_PARAMS) return
  const params = text.split('?').length - 1
  if (text.length > MAX_CHARS || params > MAX_PARAMS)
    throw SearchTooCostly(
      `its values stand for ${params} numbers and texts to compare; a quantity with a unit is looked for in all units it can be converted to`,
    )
}

/** Returns the same statement for the same text, so that the database prepares each text once. */
export const createStatementCache = () => {
  let made = new Map<string, Sql>()
  return (text: string): Sql => {
    const found = made.get(text)
    if (found !== undefined) return found
    checkSize(text)
    if (made.size >= MAX_STATEMENTS) made = new Map()
    let hash = 5381
    for (let at = 0; at < text.length; at += 1) hash = (Math.imul(hash, 33) ^ text.charCodeAt(at)) | 0
    const statement = sql(`search.${(hash >>> 0).toString(36)}.${text.length}`, text)
    made.set(text, statement)
    return statement
  }
}

export type StatementCache = ReturnType<typeof createStatementCache>
