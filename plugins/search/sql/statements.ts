/** A cache of statements by their text. */
import { type Sql, sql } from '../../database/service.ts'

const MAX_STATEMENTS = 1_000

/** Returns the same statement for the same text, so that the database prepares each text once. */
export const createStatementCache = () => {
  let made = new Map<string, Sql>()
  return (text: string): Sql => {
    const found = made.get(text)
    if (found !== undefined) return found
    if (made.size >= MAX_STATEMENTS) made = new Map()
    let hash = 5381
    for (let at = 0; at < text.length; at += 1) hash = (Math.imul(hash, 33) ^ text.charCodeAt(at)) | 0
    const statement = sql(`search.${(hash >>> 0).toString(36)}.${text.length}`, text)
    made.set(text, statement)
    return statement
  }
}

export type StatementCache = ReturnType<typeof createStatementCache>
