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
  {
    name: 'import/0002-job',
    sql: [
      // What a file said of its content when the import of it began: its ETag, for example.
      'ALTER TABLE import_source ADD COLUMN mark text',
      'CREATE TABLE import_error (job varchar(32) NOT NULL, input integer NOT NULL, line bigint NOT NULL, outcome text NOT NULL, PRIMARY KEY (job, input, line))',
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
export const readSourceMark = sql('import.mark', 'SELECT mark FROM import_source WHERE id = ?')
export const writeSourceMark = sql('import.mark-write', 'UPDATE import_source SET mark = ? WHERE id = ?')

export interface ErrorRow {
  readonly input: number
  /** An OperationOutcome as JSON. */
  readonly outcome: string
}

export const countErrors = sql('import.errors-count', 'SELECT count(*) AS n FROM import_error WHERE job = ?')
export const addError = sql(
  'import.error',
  // `line` is 0 for what concerns the whole file.
  'INSERT INTO import_error (job, input, line, outcome) VALUES (?, ?, ?, ?)',
)
export const listErrors = sql(
  'import.errors',
  'SELECT input, outcome FROM import_error WHERE job = ? ORDER BY input, line',
)
const OF_JOB = 'substr(id, 1, 33) = ?' // ids of sources of a job are its own, a hyphen and a number
export const forgetJobRanges = sql(
  'import.forget-job-ranges',
  `DELETE FROM import_range WHERE source IN (SELECT id FROM import_source WHERE ${OF_JOB})`,
)
export const forgetJobSources = sql('import.forget-job-sources', `DELETE FROM import_source WHERE ${OF_JOB}`)
export const forgetErrors = sql('import.forget-errors', 'DELETE FROM import_error WHERE job = ?')

/** A file of a job. */
export interface JobSourceRow {
  readonly id: string
  readonly resources: number | string
  readonly failed: number | string
}

export const listJobSources = sql(
  'import.job-sources',
  `SELECT id, resources, failed FROM import_source WHERE ${OF_JOB}`,
)
