/**
 * `tx_pull`: how far a pull has come, for each source (a base URL) and type. `tx_pulled`: the definitions. Those with `staged`
 * 1 are of a pull that is not complete, and nobody uses them.
 */
import type { SchemaChange } from '../../../kernel/index.ts'
import { sql } from '../../database/service.ts'

export const PULL_TABLES: SchemaChange = {
  name: 'terminology/0003-pull',
  sql: [
    // `since`: the time at the source when the last complete pull began, less a margin; '' where there was none. `next`: the page that
    // a pull in progress reads next, '' where there is none; `began`: what becomes its `since`; `seen`: resources of the pages before.
    'CREATE TABLE tx_pull (source varchar(500) NOT NULL, type varchar(32) NOT NULL, since varchar(32) NOT NULL, next text NOT NULL, began varchar(32) NOT NULL, is_full integer NOT NULL, pages integer NOT NULL, seen integer NOT NULL, PRIMARY KEY (source, type))',
    // `name`: the id at the source. `body`: JSON of the resource; '' where its concepts are in the index (`large` 1).
    'CREATE TABLE tx_pulled (source varchar(500) NOT NULL, type varchar(32) NOT NULL, name varchar(64) NOT NULL, staged integer NOT NULL, url varchar(500) NOT NULL, version text, status text, large integer NOT NULL, body text NOT NULL, PRIMARY KEY (source, type, name, staged))',
    'CREATE INDEX tx_pulled_url ON tx_pulled (type, url)',
  ],
}

export interface PullRow {
  readonly since: string
  readonly next: string
  readonly began: string
  readonly is_full: number
  readonly pages: number
  readonly seen: number
}
export interface PulledRow {
  readonly source: string
  readonly name: string
  readonly version: string | null
  readonly status: string | null
}

export const readPull = sql(
  'terminology.pull',
  'SELECT since, next, began, is_full, pages, seen FROM tx_pull WHERE source = ? AND type = ?',
)
export const writePull = sql(
  'terminology.write-pull',
  'INSERT INTO tx_pull (source, type, since, next, began, is_full, pages, seen) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (source, type) DO UPDATE SET since = excluded.since, next = excluded.next, began = excluded.began, is_full = excluded.is_full, pages = excluded.pages, seen = excluded.seen',
)
export const stageDefinition = sql(
  'terminology.stage',
  'INSERT INTO tx_pulled (source, type, name, staged, url, version, status, large, body) VALUES (?, ?, ?, 1, ?, ?, ?, ?, ?) ON CONFLICT (source, type, name, staged) DO UPDATE SET url = excluded.url, version = excluded.version, status = excluded.status, large = excluded.large, body = excluded.body',
)
/** What is in use of a definition is used by this pull, too. Parameters: source, type, name. */
export const stageAgain = sql(
  'terminology.stage-again',
  'INSERT INTO tx_pulled (source, type, name, staged, url, version, status, large, body) SELECT source, type, name, 1, url, version, status, large, body FROM tx_pulled WHERE source = ? AND type = ? AND name = ? AND staged = 0 ON CONFLICT (source, type, name, staged) DO NOTHING',
)
export const deleteStaged = sql(
  'terminology.delete-staged',
  'DELETE FROM tx_pulled WHERE source = ? AND type = ? AND staged = 1',
)
/** Those in use, before all of them are replaced. */
export const deletePulled = sql(
  'terminology.delete-pulled',
  'DELETE FROM tx_pulled WHERE source = ? AND type = ? AND staged = 0',
)
/** Those in use of which there is a staged one. Parameters: source, type, source, type. */
export const deleteReplaced = sql(
  'terminology.delete-replaced',
  'DELETE FROM tx_pulled WHERE source = ? AND type = ? AND staged = 0 AND name IN (SELECT name FROM tx_pulled WHERE source = ? AND type = ? AND staged = 1)',
)
export const useStaged = sql(
  'terminology.use-staged',
  'UPDATE tx_pulled SET staged = 0 WHERE source = ? AND type = ? AND staged = 1',
)
/** Without those of the index. */
export const readPulled = sql(
  'terminology.pulled',
  'SELECT source, name, version, status FROM tx_pulled WHERE type = ? AND url = ? AND staged = 0 AND large = 0 ORDER BY source, name',
)
export const readPulledBody = sql(
  'terminology.pulled-body',
  'SELECT body FROM tx_pulled WHERE source = ? AND type = ? AND name = ? AND staged = 0 AND large = 0',
)
/** Code systems whose concepts are in the index, or on their way there. */
export const readPulledLarge = sql(
  'terminology.pulled-large',
  "SELECT DISTINCT source, name FROM tx_pulled WHERE type = 'CodeSystem' AND large = 1",
)
export const readIndexedPulls = sql(
  'terminology.indexed-pulls',
  "SELECT DISTINCT name FROM tx_system WHERE source = 'pull' AND state <> 'ended'",
)
