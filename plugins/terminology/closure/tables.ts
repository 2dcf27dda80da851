/**
 * The tables of closures: which concepts a client has added under a name, and which of them are above which. The version
 * of a closure grows with each request that adds something; rows have the version that added them.
 */
import type { SchemaChange } from '../../../kernel/index.ts'
import { sql } from '../../database/service.ts'

export const closureMigrations: readonly SchemaChange[] = [
  {
    name: 'terminology/0001-closure',
    sql: [
      // `used`: milliseconds since the epoch. `codes` and `entries` count the rows of the other tables.
      'CREATE TABLE terminology_closure (client varchar(255) NOT NULL, person varchar(255) NOT NULL, name varchar(200) NOT NULL, version bigint NOT NULL, used bigint NOT NULL, codes bigint NOT NULL, entries bigint NOT NULL, PRIMARY KEY (client, person, name))',
      'CREATE TABLE terminology_closure_code (client varchar(255) NOT NULL, person varchar(255) NOT NULL, name varchar(200) NOT NULL, system text NOT NULL, code text NOT NULL, PRIMARY KEY (client, person, name, system, code))',
      'CREATE TABLE terminology_closure_entry (client varchar(255) NOT NULL, person varchar(255) NOT NULL, name varchar(200) NOT NULL, version bigint NOT NULL, system text NOT NULL, below text NOT NULL, above text NOT NULL, PRIMARY KEY (client, person, name, version, system, below, above))',
    ],
  },
]

export interface ClosureRow {
  readonly name: string
  readonly version: number
  readonly codes: number
  readonly entries: number
}
export interface CodeRow {
  readonly system: string
  readonly code: string
}
export interface EntryRow {
  readonly system: string
  readonly below: string
  readonly above: string
}

const OWN = 'client = ? AND person = ? AND name = ?'

export const readClosure = sql(
  'terminology.closure',
  `SELECT name, version, codes, entries FROM terminology_closure WHERE ${OWN}`,
)
export const listClosures = sql(
  'terminology.closures',
  'SELECT name, version, codes, entries FROM terminology_closure WHERE client = ? AND person = ? ORDER BY used, name',
)
export const putClosure = sql(
  'terminology.putClosure',
  'INSERT INTO terminology_closure (client, person, name, version, used, codes, entries) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (client, person, name) DO UPDATE SET version = excluded.version, used = excluded.used, codes = excluded.codes, entries = excluded.entries',
)
export const dropClosure = sql('terminology.dropClosure', `DELETE FROM terminology_closure WHERE ${OWN}`)
export const dropCodes = sql('terminology.dropCodes', `DELETE FROM terminology_closure_code WHERE ${OWN}`)
export const dropEntries = sql('terminology.dropEntries', `DELETE FROM terminology_closure_entry WHERE ${OWN}`)

export const readCodes = sql(
  'terminology.closureCodes',
  `SELECT system, code FROM terminology_closure_code WHERE ${OWN}`,
)
/** The last parameter is the version behind which entries are wanted. */
export const readEntries = sql(
  'terminology.closureEntries',
  `SELECT system, below, above FROM terminology_closure_entry WHERE ${OWN} AND version > ? ORDER BY system, below, above`,
)
/** The last parameter is JSON, a list of `[system, code]`. */
export const addCodes = sql('terminology.addCodes', {
  sqlite:
    "INSERT INTO terminology_closure_code (client, person, name, system, code) SELECT ?, ?, ?, value ->> '$[0]', value ->> '$[1]' FROM json_each(?)",
  postgres:
    'INSERT INTO terminology_closure_code (client, person, name, system, code) SELECT ?, ?, ?, t.one ->> 0, t.one ->> 1 FROM jsonb_array_elements(?::jsonb) AS t(one)',
})
/** The last parameter is JSON, a list of `[system, below, above]`. */
export const addEntries = sql('terminology.addEntries', {
  sqlite:
    "INSERT INTO terminology_closure_entry (client, person, name, version, system, below, above) SELECT ?, ?, ?, ?, value ->> '$[0]', value ->> '$[1]', value ->> '$[2]' FROM json_each(?)",
  postgres:
    'INSERT INTO terminology_closure_entry (client, person, name, version, system, below, above) SELECT ?, ?, ?, ?, t.one ->> 0, t.one ->> 1, t.one ->> 2 FROM jsonb_array_elements(?::jsonb) AS t(one)',
})
