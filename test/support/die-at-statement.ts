/**
 * Loaded before the program of a process with `--import`: the process ends by SIGKILL in place of its n-th statement that begins
 * with a text without quotes, which the variable DIE_AT gives: `3 insert into x`. Of MikroORM's statements on each database.
 */
import BetterSqlite from 'better-sqlite3'
import pg from 'pg'

const [, count = '', text = ''] = /^(\d+) (.+)$/.exec(process.env.DIE_AT ?? '') ?? []
let left = Number(count)
const QUOTES = /"public"\.|["`]/g

const look = (statement: unknown): void => {
  const said = typeof statement === 'string' ? statement : (statement as { readonly text?: string } | undefined)?.text
  if (said?.toLowerCase().replaceAll(QUOTES, '').startsWith(text) !== true) return
  left -= 1
  if (left === 0) process.kill(process.pid, 'SIGKILL')
}

type Method = (this: unknown, ...given: unknown[]) => unknown
const watch = (prototype: object, name: string): void => {
  const methods = prototype as Record<string, Method>
  const method = methods[name] as Method
  methods[name] = function (...given) {
    look(given[0])
    return method.apply(this, given)
  }
}
for (const name of ['prepare', 'exec']) watch(BetterSqlite.prototype, name)
watch(pg.Client.prototype, 'query')
