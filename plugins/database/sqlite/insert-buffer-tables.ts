/**
 * Tables of the insert buffer: one row for each COMMIT, with committed rows that are not in their tables yet, and the
 * statements that insert them.
 */
import type { SchemaChange } from '../../../kernel/index.ts'

export const insertBufferMigration: SchemaChange = {
  name: 'database/0002-backlog',
  sql: {
    sqlite: [
      'CREATE TABLE backlog_insert (number integer PRIMARY KEY, width integer NOT NULL, text text NOT NULL UNIQUE)',
      // Bytes as in insert-buffer-record.ts. Earlier builds stored JSON: [[number, parameters of one row after the
      // other], …]
      'CREATE TABLE backlog (seq integer PRIMARY KEY, rows text NOT NULL)',
    ],
    postgres: [],
  },
}

export const FIND_INSERT = 'SELECT number FROM backlog_insert WHERE text = ?'
export const ADD_INSERT = 'INSERT INTO backlog_insert (text, width) VALUES (?, ?) RETURNING number'
export const ADD_ROWS = 'INSERT INTO backlog (rows) VALUES (?)'
export const CLEAR_ROWS = 'DELETE FROM backlog'
