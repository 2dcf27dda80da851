/**
 * `import_source`: files that were imported, or are being imported. `import_range`: records of unfinished ones that are
 * done, written in the transaction that stored them, so that an import that goes on stores nothing twice.
 */
import type { SchemaChange } from '../../kernel/index.ts'
import { sql } from '../database/service.ts'

export const importMigrations: readonly SchemaChange[] = [
  {
    name: 'import/0001-sources',
    sql: [
      'CREATE TABLE import_source (id varchar(64) PRIMARY KEY, name text NOT NULL, started bigint NOT NULL, finished bigint, resources bigint NOT NULL, failed bigint NOT NULL)',
      'CREATE TABLE import_range (source varchar(64) NOT NULL, first bigint NOT NULL, last bigint NOT NULL, resources bigint NOT NULL, failed smallint NOT NULL, PRIMARY KEY (source, first))',
    ],
  },
]

export interface SourceRow {
  /** Milliseconds since the epoch; null until all records are done. */
  readonly finished: number | string | null
  readonly resources: number | string
  readonly failed: number | string
}

/** Records `first` to `last`, both inclusive. */
export interface RangeRow {
  readonly first: number | string
  readonly last: number | string
  readonly resources: number | string
  readonly failed: number | string
}

export const findSource = sql('import.source', 'SELECT finished, resources, failed FROM import_source WHERE id = ?')
export const beginSource = sql(
  'import.begin',
  'INSERT INTO import_source (id, name, started, finished, resources, failed) VALUES (?, ?, ?, NULL, 0, 0) ON CONFLICT (id) DO UPDATE SET name = excluded.name, started = excluded.started, finished = NULL, resources = 0, failed = 0',
)
export const endSource = sql(
  'import.end',
  'UPDATE import_source SET finished = ?, resources = ?, failed = ? WHERE id = ?',
)
export const listRanges = sql(
  'import.ranges',
  'SELECT first, last, resources, failed FROM import_range WHERE source = ? ORDER BY first',
)
export const addRange = sql(
  'import.range',
  'INSERT INTO import_range (source, first, last, resources, failed) VALUES (?, ?, ?, ?, ?)',
)
export const forgetRanges = sql('import.forget', 'DELETE FROM import_range WHERE source = ?')
