/** The denominator of imports on PostgreSQL: raw pg writes the rows that the server wrote into a copy of its database. */
import pg from 'pg'

const MAX_PARAMETERS = 60_000 // of a statement; the protocol has 65,535
const LANES = 4 // connections, as many as an import has transactions at once

interface Statement {
  readonly text: string
  readonly values: readonly unknown[]
}

export interface Replayed {
  readonly rows: number
  readonly seconds: number
  readonly micros: number
}

export interface PostgresReplay {
  /** What is written from now on belongs to the round. */
  mark(): Promise<void>
  /** Writes it, in as many transactions as there are batches of `batch` of `resources`. */
  replay(resources: number, batch: number): Promise<Replayed>
  stop(): Promise<void>
}

const quote = (name: string): string => `"${name.replaceAll('"', '""')}"`

/** Rows as inserts of many. */
const toStatements = (table: string, columns: readonly Column[], rows: readonly unknown[][]): readonly Statement[] => {
  const found: Statement[] = []
  const most = Math.max(1, Math.floor(MAX_PARAMETERS / columns.length))
  for (let from = 0; from < rows.length; from += most) {
    const some = rows.slice(from, from + most)
    const places = some.map(
      (_, row) => `(${columns.map(({ type }, at) => `$${row * columns.length + at + 1}::${type}`).join(', ')})`,
    )
    const names = columns.map(({ name }) => quote(name)).join(', ')
    found.push({
      text: `INSERT INTO ${quote(table)} (${names}) VALUES ${places.join(', ')} ON CONFLICT DO NOTHING`,
      values: some.flat(),
    })
  }
  return found
}

interface Column {
  readonly name: string
  readonly type: string
}

const readTables = async (client: pg.Client): Promise<ReadonlyMap<string, readonly Column[]>> => {
  const { rows } = await client.query(
    `SELECT c.relname AS table, a.attname AS name, format_type(a.atttypid, a.atttypmod) AS type
     FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
     WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
     ORDER BY c.relname, a.attnum`,
  )
  const tables = new Map<string, Column[]>()
  for (const { table, name, type } of rows) tables.set(table, [...(tables.get(table) ?? []), { name, type }])
  return tables
}

/** `from` is the database of the server, `into` a copy of it. */
export const createPostgresReplay = async (from: string, into: string): Promise<PostgresReplay> => {
  const source = new pg.Client({ connectionString: from })
  await source.connect()
  const lanes = Array.from({ length: LANES }, () => new pg.Client({ connectionString: into }))
  await Promise.all(lanes.map((client) => client.connect()))
  const tables = await readTables(source)
  let since = '0'
  return {
    async mark() {
      since = (await source.query('SELECT pg_current_xact_id()::text AS id')).rows[0].id
    },
    async replay(resources, batch) {
      const batches: Statement[][] = Array.from({ length: Math.ceil(resources / batch) }, () => [])
      let count = 0
      for (const [table, columns] of tables) {
        const list = columns.map(({ name }) => `${quote(name)}::text`).join(', ')
        const { rows } = await source.query({
          text: `SELECT ${list} FROM ${quote(table)} WHERE xmin::text::bigint > ${since} ORDER BY ctid`,
          rowMode: 'array',
        })
        count += rows.length
        for (const [at, statements] of batches.entries()) {
          const [begin, end] = [at, at + 1].map((one) => Math.floor((one * rows.length) / batches.length))
          statements.push(...toStatements(table, columns, rows.slice(begin, end)))
        }
      }
      const before = process.cpuUsage()
      const startedAt = performance.now()
      let next = 0
      const work = async (client: pg.Client): Promise<void> => {
        for (let at = next++; at < batches.length; at = next++) {
          await client.query('BEGIN')
          for (const { text, values } of batches[at] as Statement[]) await client.query(text, values as unknown[])
          await client.query('COMMIT')
        }
      }
      await Promise.all(lanes.map(work))
      const { user, system } = process.cpuUsage(before)
      return { rows: count, seconds: (performance.now() - startedAt) / 1000, micros: user + system }
    },
    async stop() {
      await Promise.all([source, ...lanes].map((client) => client.end()))
    },
  }
}
