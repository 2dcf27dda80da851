/**
 * Migrations that change what index rows hold. They empty the index, and the next start fills it again from the
 * resources.
 */
import type { SchemaChange } from '../../../kernel/index.ts'
import { GONE } from './tables.ts'

const EXACT = {
  quantity: (real: string, text: string, suffix: string): readonly string[] => [
    'DROP TABLE ix_qty',
    // The doubles are before the rests in the key, so that rows are in the order of the numbers: see exact-number.ts.
    `CREATE TABLE ix_qty (param integer NOT NULL, lo ${real} NOT NULL, hi ${real} NOT NULL, code bigint NOT NULL, sys integer NOT NULL, unit integer NOT NULL, lo_rest ${text} NOT NULL, hi_rest ${text} NOT NULL, rid bigint NOT NULL, PRIMARY KEY (param, lo, hi, code, sys, unit, lo_rest, hi_rest, rid))${suffix}`,
    'CREATE INDEX ix_qty_rid ON ix_qty (rid, param)',
  ],
  composite: (real: string, text: string, suffix: string): readonly string[] => [
    'DROP TABLE ix_comp',
    `CREATE TABLE ix_comp (param integer NOT NULL, val bigint NOT NULL, sys integer NOT NULL, lo ${real} NOT NULL, hi ${real} NOT NULL, val2 bigint NOT NULL, sys2 integer NOT NULL, lo2 ${real} NOT NULL, hi2 ${real} NOT NULL, txt ${text} NOT NULL, lo_rest ${text} NOT NULL, hi_rest ${text} NOT NULL, lo2_rest ${text} NOT NULL, hi2_rest ${text} NOT NULL, tail ${text}, rid bigint NOT NULL, PRIMARY KEY (param, val, sys, rid, lo, hi, val2, sys2, lo2, hi2, txt, lo_rest, hi_rest, lo2_rest, hi2_rest))${suffix}`,
  ],
  text: (text: string, key: string): readonly string[] => [
    'DROP TABLE ix_text',
    `CREATE TABLE ix_text (param integer NOT NULL, txt ${text} NOT NULL, val bigint NOT NULL, tail ${text}${key}`,
  ],
} as const

/** Empties the index. The next start fills it again before the server is ready. */
const INDEX_ANEW: readonly string[] = [
  ...['ix_res', 'ix_token', 'ix_ref', 'ix_date', 'ix_qty', 'ix_str', 'ix_comp', 'ix_text'].map(
    (table) => `DELETE FROM ${table}`,
  ),
  `UPDATE search_column SET ready = 0, reach = 0, indexed = 0, expected = 0 WHERE reach <> ${GONE}`,
  "UPDATE search_setting SET value = CAST(CAST(value AS bigint) + 1 AS text) WHERE name = 'generation'",
]

/** Stores numbers with all digits and texts with all characters. */
export const exactMigrations: readonly SchemaChange[] = [
  {
    name: 'fhir/0007-exact-values',
    sql: {
      sqlite: [
        ...EXACT.quantity('real', 'text', ' WITHOUT ROWID'),
        ...EXACT.composite('real', 'text', ' WITHOUT ROWID'),
        ...EXACT.text('text', ', PRIMARY KEY (param, txt, val)) WITHOUT ROWID'),
        ...INDEX_ANEW,
      ],
      postgres: [
        ...EXACT.quantity('double precision', 'text COLLATE "C"', ''),
        ...EXACT.composite('double precision', 'text COLLATE "C"', ''),
        ...EXACT.text('text COLLATE "C"', ')'),
        'CREATE INDEX ix_text_txt ON ix_text (param, txt, val)',
        ...INDEX_ANEW,
      ],
    },
  },
]

/** For a new `normalize`, in which all forms of a letter are equal, and for composites with the texts of units. */
export const foldedMigrations: readonly SchemaChange[] = [{ name: 'fhir/0009-folded-texts', sql: INDEX_ANEW }]
