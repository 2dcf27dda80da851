/**
 * The text of a statement without anything that may be a value. Values are parameters, but for the numbers of types and
 * parameters; literals are taken out all the same, so that no later statement shows one.
 */
import type { Database, Sql } from '../database/service.ts'

const MAX_TEXT = 2_000 // characters

export const createStatementText = (kind: Database['kind']): ((statement: Sql) => string) => {
  const texts = new WeakMap<Sql, string>()
  return (statement) => {
    let text = texts.get(statement)
    if (text === undefined) {
      text = (kind === 'postgres' ? statement.postgres : statement.sqlite)
        .replace(/\$\d+/g, '?')
        .replace(/'(?:[^']|'')*'/g, '?')
        .replace(/\b\d+(?:\.\d+)?\b/g, '?')
        .replace(/\(\?(?:, ?\?)+\)/g, '(?, …)')
        .slice(0, MAX_TEXT)
      texts.set(statement, text)
    }
    return text
  }
}
