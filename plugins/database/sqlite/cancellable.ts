/**
 * Makes a long query stop soon after it is cancelled. better-sqlite3 has no interrupt, and ending a thread does not end the statement
 * that it runs. So the query calls a function now and then, which throws once the query is cancelled.
 */
import { EACH_ROW } from '../each-row.ts'

/** Name of the SQL function. */
export const RUNS = 'query_runs'
const BETWEEN = 8 // rows between two calls: a row may take milliseconds, a call takes a fifth of a microsecond

/** Replaces the marks of `eachRow` by a condition that is true of each row. The plus keeps SQLite from using it to choose an index. */
export const cancellable = (text: string): string =>
  text.replaceAll(EACH_ROW, (_mark, key: string) => `AND ((+${key} & ${BETWEEN - 1}) <> 0 OR ${RUNS}())`)
