/**
 * The files of a release of LOINC that are read, and what is kept of their rows. https://loinc.org/kb/users-guide/ lists the columns.
 */
import type { Staging } from './staging.ts'

export const LOINC = 'http://loinc.org'

/** A row of `concept` is what a file says of a code itself; `more` is what other files add, as JSON, by `kind` and `key`. */
export const LOINC_TABLES: readonly string[] = [
  'CREATE TABLE concept (code TEXT PRIMARY KEY, body TEXT) WITHOUT ROWID',
  'CREATE TABLE more (code TEXT, kind TEXT, key TEXT, body TEXT, PRIMARY KEY (code, kind, key)) WITHOUT ROWID',
]

/** The parts that a term is made of. */
export const PARTS = ['COMPONENT', 'PROPERTY', 'TIME_ASPCT', 'SYSTEM', 'SCALE_TYP', 'METHOD_TYP', 'CLASS'] as const
/** Other columns that become properties with texts. */
export const TEXTS = [
  'CLASSTYPE',
  'ORDER_OBS',
  'VersionLastChanged',
  'VersionFirstReleased',
  'EXAMPLE_UCUM_UNITS',
  'COMMON_TEST_RANK',
  'PanelType',
] as const
/** Columns that become designations. */
export const NAMES = ['SHORTNAME', 'DisplayName', 'CONSUMER_NAME'] as const

export interface StagedConcept {
  readonly display?: string | undefined
  readonly definition?: string | undefined
  readonly status?: string | undefined
  /** Column and text. */
  readonly names?: readonly (readonly [string, string])[]
  readonly texts?: readonly (readonly [string, string])[]
}

export interface LoincPut {
  /** Throws a sentence where the code is there with another body. */
  concept(code: string, body: StagedConcept): void
  /** Only where no other file has that code. */
  fallback(code: string, display: string): void
  more(code: string, kind: MoreKind, key: string, body?: unknown): void
}

/**
 * `parent`: the key is a code above it; `part`: the key is a property, the body a part; `list`: an answer list of a term; `in`: a
 * list that an answer is in; `for`: a term that a list is for; `text`: the key is a language and a column, the body a text.
 */
export type MoreKind = 'parent' | 'part' | 'list' | 'in' | 'for' | 'text'

export const createLoincPut = (staging: Staging): LoincPut => {
  const concept = staging.prepare('INSERT OR IGNORE INTO concept VALUES (?, ?)')
  const known = staging.prepare('SELECT body FROM concept WHERE code = ?')
  const more = staging.prepare('INSERT OR IGNORE INTO more VALUES (?, ?, ?, ?)')
  return {
    concept(code, body) {
      const json = JSON.stringify(body)
      if (concept.run(code, json).changes === 1) return
      if ((known.get(code) as { body: string }).body !== json)
        throw new Error(`${code} is there twice, with different contents`)
    },
    fallback: (code, display) => void concept.run(code, JSON.stringify({ display })),
    more: (code, kind, key, body = null) => void more.run(code, kind, key, JSON.stringify(body)),
  }
}
