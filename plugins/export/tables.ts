/** The files of exports. A finished part has a row; what is in no row counts for nothing. */
import type { SchemaChange } from '../../kernel/index.ts'
import { sql } from '../database/service.ts'

export const exportMigrations: readonly SchemaChange[] = [
  {
    name: 'export/0001-part',
    sql: [
      // A part has the resources of its type with after_rid < rid <= upto_rid. `is_last`: no part of this type follows.
      'CREATE TABLE export_part (job varchar(32) NOT NULL, part integer NOT NULL, section varchar(16) NOT NULL, type varchar(64) NOT NULL, after_rid bigint NOT NULL, upto_rid bigint NOT NULL, is_last integer NOT NULL, attempt integer NOT NULL, file varchar(64) NOT NULL, lines integer NOT NULL, bytes bigint NOT NULL, sha256 varchar(64) NOT NULL, PRIMARY KEY (job, part))',
    ],
  },
]

const COLUMNS = 'job, part, section, type, after_rid, upto_rid, is_last, attempt, file, lines, bytes, sha256'

/** Also replaces the part of an earlier attempt whose file is gone. */
export const putPart = sql(
  'export.part',
  `INSERT INTO export_part (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (job, part) DO UPDATE SET attempt = excluded.attempt, file = excluded.file, lines = excluded.lines, bytes = excluded.bytes, sha256 = excluded.sha256`,
)
export const readParts = sql('export.parts', `SELECT ${COLUMNS} FROM export_part WHERE job = ? ORDER BY part`)
export const deleteParts = sql('export.delete-parts', 'DELETE FROM export_part WHERE job = ?')

export type Section = 'output' | 'deleted' | 'error'

export interface PartRow {
  readonly job: string
  readonly part: number
  readonly section: Section
  readonly type: string
  readonly after_rid: number
  readonly upto_rid: number
  readonly is_last: number
  readonly attempt: number
  /** Empty where the part has no lines. */
  readonly file: string
  readonly lines: number
  readonly bytes: number
  readonly sha256: string
}
