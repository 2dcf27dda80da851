/**
 * Tables of the full-text index, for `_text` and `_content`: FTS5 without a copy of the text on SQLite, a tsvector on
 * PostgreSQL. Words of narratives are marked, because `_text` searches only them.
 */
import type { SchemaChange } from '../../../../kernel/index.ts'
import { type DeferredInsert, sql } from '../../../database/service.ts'

export const fullTextMigrations: readonly SchemaChange[] = [
  {
    name: 'fhir/0004-words',
    sql: {
      sqlite: [
        `CREATE VIRTUAL TABLE ix_words USING fts5(narrative, content, content='', contentless_delete=1, tokenize="unicode61 remove_diacritics 0 categories 'L* M* N* Co'")`,
      ],
      postgres: [
        'CREATE TABLE ix_words (rid bigint PRIMARY KEY, words tsvector NOT NULL)',
        'CREATE INDEX ix_words_words ON ix_words USING gin (words)',
      ],
    },
  },
]

const WORDS = "setweight(to_tsvector('simple', ?), 'A') || to_tsvector('simple', ?)"

/** Parameters: resource key, narrative, content. */
export const insertText: DeferredInsert = {
  table: 'ix_words',
  width: 3,
  counts: [
    sql('search.words-insert', {
      sqlite: 'INSERT OR REPLACE INTO ix_words (rowid, narrative, content) VALUES (?, ?, ?)',
      postgres: `INSERT INTO ix_words (rid, words) VALUES (?, ${WORDS}) ON CONFLICT (rid) DO UPDATE SET words = excluded.words`,
    }),
  ],
}
export const deleteText = sql('search.words-delete', {
  sqlite: 'DELETE FROM ix_words WHERE rowid = ?',
  postgres: 'DELETE FROM ix_words WHERE rid = ?',
})
export const clearText = sql('search.words-clear', {
  sqlite: "INSERT INTO ix_words (ix_words) VALUES ('delete-all')",
  postgres: 'DELETE FROM ix_words',
})
export const readTextBatch = sql(
  'search.words-batch',
  'SELECT rid, flags, body FROM resource WHERE rid > ? AND (flags & 1) = 0 ORDER BY rid LIMIT ?',
)
export const readTextSetting = sql('search.words-setting', 'SELECT value FROM search_setting WHERE name = ?')
export const writeTextSetting = sql(
  'search.words-setting-write',
  'INSERT INTO search_setting (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
)
