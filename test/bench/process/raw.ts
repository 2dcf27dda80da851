/**
 * The denominator of durable writes: bare better-sqlite3 that writes the very rows the server under test wrote, into
 * a copy of its database, with FULL and one transaction per resource (or per batch of resources).
 */
import BetterSqlite from 'better-sqlite3'
import { answerWith } from './answer.ts'

type Row = readonly unknown[]

interface Table {
  readonly name: string
  /** Rows of one resource belong together; undefined when the table does not say whose a row is. */
  readonly hasRid: boolean
  readonly hasRowid: boolean
  readonly columns: readonly string[]
}

interface Insert {
  readonly statement: BetterSqlite.Statement<unknown[]>
  readonly row: Row
}

const quote = (name: string): string => `"${name.replaceAll('"', '""')}"`

const tablesOf = (handle: BetterSqlite.Database): Table[] =>
  (
    handle
      .prepare(
        "SELECT name, wr FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'",
      )
      .all() as { name: string; wr: number }[]
  ).map(({ name, wr }) => {
    const columns = (handle.pragma(`table_info(${quote(name)})`) as { name: string }[]).map((column) => column.name)
    return { name, hasRid: columns.includes('rid'), hasRowid: wr === 0, columns }
  })

let source: BetterSqlite.Database | undefined
let target: BetterSqlite.Database | undefined
let tables: Table[] = []
const marks = new Map<string, bigint>()

const keyOf = ({ hasRid }: Table): string => (hasRid ? 'rid' : 'rowid')

/** Notes where every table ends now: what comes later was written by the round. */
const mark = (): void => {
  for (const table of tables) {
    if (!table.hasRid && !table.hasRowid) continue
    const last = source
      ?.prepare(`SELECT max(${keyOf(table)}) AS last FROM ${quote(table.name)}`)
      .safeIntegers()
      .get() as { last: bigint | null }
    marks.set(table.name, last.last ?? 0n)
  }
}

/** Rows per resource, in the order the resources were written. */
const readRound = (from: BetterSqlite.Database, into: BetterSqlite.Database): Insert[][] => {
  const groups = new Map<bigint, Insert[]>()
  const loose: Insert[] = []
  for (const table of tables) {
    const last = marks.get(table.name)
    if (last === undefined) continue
    const { name, columns, hasRid } = table
    const list = columns.map(quote).join(', ')
    const statement = into.prepare(`INSERT INTO ${quote(name)} (${list}) VALUES (${columns.map(() => '?').join(', ')})`)
    const rows = from
      .prepare(`SELECT ${keyOf(table)}, ${list} FROM ${quote(name)} WHERE ${keyOf(table)} > ? ORDER BY 1`)
      .safeIntegers()
      .raw()
      .all(last) as [bigint, ...unknown[]][]
    for (const [key, ...row] of rows) {
      if (!hasRid) {
        loose.push({ statement, row })
        continue
      }
      const group = groups.get(key) ?? []
      group.push({ statement, row })
      groups.set(key, group)
    }
  }
  const resources = [...groups.entries()].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, group]) => group)
  // What does not say whose it is (a trail, a log) is spread evenly over the resources of the round.
  for (const [at, insert] of loose.entries())
    resources[Math.floor((at * resources.length) / loose.length)]?.push(insert)
  return resources
}

/** What the server was still answering when the load ended is put into its tables within a moment. */
const waitForBacklog = async (from: BetterSqlite.Database): Promise<void> => {
  if (!tables.some(({ name }) => name === 'backlog')) return
  const waits = from.prepare('SELECT 1 FROM backlog LIMIT 1')
  for (let tries = 0; waits.get() !== undefined; tries += 1) {
    if (tries === 100) throw new Error('rows stay in the backlog')
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

answerWith({
  start({ sourcePath, targetPath }: { sourcePath: string; targetPath: string }) {
    source = new BetterSqlite(sourcePath, { readonly: true, fileMustExist: true })
    source.prepare('VACUUM INTO ?').run(targetPath)
    target = new BetterSqlite(targetPath)
    target.pragma('journal_mode = WAL')
    target.pragma('synchronous = FULL')
    tables = tablesOf(source)
  },
  async mark() {
    if (source !== undefined) await waitForBacklog(source)
    mark()
  },
  /** Writes what the server wrote since `mark`; answers how many resources, rows each, and how long it took. */
  async replay({ batch }: { batch: number }) {
    if (source === undefined || target === undefined) throw new Error('not started')
    await waitForBacklog(source)
    const resources = readRound(source, target)
    const begin = target.prepare('BEGIN IMMEDIATE')
    const commit = target.prepare('COMMIT')
    const cpuBefore = process.cpuUsage()
    const startedAt = performance.now()
    for (let at = 0; at < resources.length; at += batch) {
      begin.run()
      for (const resource of resources.slice(at, at + batch))
        for (const { statement, row } of resource) statement.run(...row)
      commit.run()
    }
    const seconds = (performance.now() - startedAt) / 1000
    const { user, system } = process.cpuUsage(cpuBefore)
    const rows = resources.reduce((sum, resource) => sum + resource.length, 0)
    return { done: resources.length, rows, seconds, micros: user + system }
  },
  stop() {
    source?.close()
    target?.close()
  },
})
