/**
 * A mark in the text of a query that may be long. It stands in a WHERE clause behind a condition, and names the key of a row:
 * SQLite can cancel the query there, see `sqlite/cancellable.ts`. For PostgreSQL, which can cancel any statement, it is a comment.
 */
export const eachRow = (key: string): string => `/* each ${key} */`

/** Matches a mark; the group is the key. */
export const EACH_ROW = /\/\* each (\S+) \*\//g
