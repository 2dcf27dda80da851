/** The questions to the index. Those that may give many places give them as one text, `list`, which costs the main thread little. */
import { type Sql, sql } from '../../database/service.ts'

/** A row of `tx_concept` with its detail. */
export interface ConceptRow {
  readonly place: number
  readonly code: string
  readonly display: string | null
  readonly inactive: number
  readonly abstract: number
  readonly definition: string | null
  readonly body: string
  /** What was asked: the key, or the position in the list. */
  readonly asked?: string
}
export interface ListRow {
  /** Places, separated by commas; null for none. */
  readonly list: string | null
}

const COLUMNS = 'c.place, c.code, c.display, c.inactive, c.abstract, d.definition, d.body'
const DETAIL = 'JOIN tx_detail d ON d.system = c.system AND d.place = c.place'

/** `text`: a SELECT of `place`, which may give one several times. */
const listed = (name: string, text: string | { readonly sqlite: string; readonly postgres: string }): Sql => {
  const { sqlite, postgres } = typeof text === 'string' ? { sqlite: text, postgres: text } : text
  return sql(`terminology.${name}`, {
    sqlite: `SELECT group_concat(place) AS list FROM (${sqlite}) found`,
    postgres: `SELECT string_agg(CAST(place AS text), ',') AS list FROM (${postgres}) found`,
  })
}
const JSON_TEXTS = {
  sqlite: '(SELECT value FROM json_each(?))',
  postgres: '(SELECT jsonb_array_elements_text(CAST(? AS jsonb)))',
}

/** PostgreSQL looks each member of an array up in an index; a join with a list it may make by reading the whole table. */
const ANY_TEXT = 'ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(? AS jsonb))))'
const ANY_NUMBER = 'ANY (ARRAY(SELECT CAST(jsonb_array_elements_text(CAST(? AS jsonb)) AS integer)))'

export const readConcept = sql(
  'terminology.concept',
  `SELECT ${COLUMNS} FROM tx_concept c ${DETAIL} WHERE c.system = ? AND c.key = ?`,
)
export const readConcepts = sql('terminology.concepts', {
  sqlite: `SELECT w.value AS asked, ${COLUMNS} FROM json_each(?) w CROSS JOIN tx_concept c ${DETAIL} WHERE c.system = ? AND c.key = w.value`,
  postgres: `SELECT c.key AS asked, ${COLUMNS} FROM tx_concept c ${DETAIL} WHERE c.key = ${ANY_TEXT} AND c.system = ?`,
})
export const readPlaces = sql('terminology.places', {
  sqlite: `SELECT ${COLUMNS} FROM json_each(?) w CROSS JOIN tx_concept c ${DETAIL} WHERE c.system = ? AND c.place = w.value`,
  postgres: `SELECT ${COLUMNS} FROM tx_concept c ${DETAIL} WHERE c.place = ${ANY_NUMBER} AND c.system = ?`,
})
export const readParentCodes = sql(
  'terminology.parents',
  'SELECT p.code FROM tx_edge e JOIN tx_concept p ON p.system = e.system AND p.place = e.parent WHERE e.system = ? AND e.child = ? ORDER BY e.n',
)
export const readChildCodes = sql(
  'terminology.children',
  'SELECT c.code FROM tx_edge e JOIN tx_concept c ON c.system = e.system AND c.place = e.child WHERE e.system = ? AND e.parent = ? ORDER BY e.child',
)
export const readParentPlaces = sql('terminology.parent-places', {
  sqlite:
    'SELECT e.child, e.parent FROM json_each(?) w CROSS JOIN tx_edge e WHERE e.system = ? AND e.child = w.value ORDER BY e.child, e.n',
  postgres: `SELECT e.child, e.parent FROM tx_edge e WHERE e.child = ${ANY_NUMBER} AND e.system = ? ORDER BY e.child, e.n`,
})

// CROSS JOIN keeps SQLite from going through all edges at each step. UNION visits each concept once, so a hierarchy that
// leads in a circle ends, too. The parameters of each: place, system.
const below = `WITH RECURSIVE reached(place) AS (SELECT CAST(? AS integer) UNION SELECT e.child FROM reached r CROSS JOIN tx_edge e WHERE e.system = ? AND e.parent = r.place)`
const above = `WITH RECURSIVE reached(place) AS (SELECT CAST(? AS integer) UNION SELECT e.parent FROM reached r CROSS JOIN tx_edge e WHERE e.system = ? AND e.child = r.place)`

export const selectBelow = listed('below', `${below} SELECT place FROM reached`)
export const selectAbove = listed('above', `${above} SELECT place FROM reached`)
/** Parameters: place, system, system, most rows. */
const codesOf = (name: string, reached: string): Sql =>
  sql(
    `terminology.${name}`,
    `${reached} SELECT c.code FROM reached r CROSS JOIN tx_concept c WHERE c.system = ? AND c.place = r.place LIMIT ?`,
  )
export const readBelow = codesOf('codes-below', below)
export const readAbove = codesOf('codes-above', above)
/** Parameters: place, system, the place that may be above. */
export const isAbove = sql('terminology.is-above', `${above} SELECT place FROM reached WHERE place = ?`)

export const selectInactive = listed('inactive', 'SELECT place FROM tx_concept WHERE system = ? AND inactive = 1')
export const selectAbstract = listed('abstract', 'SELECT place FROM tx_concept WHERE system = ? AND abstract = 1')

const matching = (name: string, text: string): Sql =>
  listed(name, {
    sqlite: `SELECT c.place FROM tx_concept c WHERE c.system = ? AND (instr(${text}, ?) > 0 OR instr(c.code_text, ?) = 1)`,
    postgres: `SELECT c.place FROM tx_concept c WHERE c.system = ? AND (strpos(${text}, ?) > 0 OR starts_with(c.code_text, ?))`,
  })
/** Parameters: the system, ' ' and the match text, the match text. */
export const selectMatching = matching('matching', 'c.text')
/** Parameters: the system, the text that the code has somewhere. */
export const selectCodesWith = listed('codes-with', {
  sqlite: 'SELECT c.place FROM tx_concept c WHERE c.system = ? AND instr(c.code_text, ?) > 0',
  postgres: 'SELECT c.place FROM tx_concept c WHERE c.system = ? AND strpos(c.code_text, ?) > 0',
})
/** Parameters: the system, the beginning of the code. */
export const selectCodesBeginning = listed('codes-beginning', {
  sqlite: 'SELECT c.place FROM tx_concept c WHERE c.system = ? AND instr(c.code_text, ?) = 1',
  postgres: 'SELECT c.place FROM tx_concept c WHERE c.system = ? AND starts_with(c.code_text, ?)',
})

const inLanguage =
  '(SELECT g.text FROM tx_designation g WHERE g.system = c.system AND g.place = c.place AND (g.language = ? OR substr(g.language, 1, length(CAST(? AS text))) = ?) ORDER BY g.n LIMIT 1)'
const own = "CASE WHEN c.display IS NULL THEN ' ' ELSE c.text END"
/** Parameters: the system, the language, twice the language and '-', then those behind the system of `selectMatching`. */
export const selectMatchingInLanguage = matching('matching-language', `coalesce(' ' || ${inLanguage}, ${own})`)
/** The same where the displays of the system are in that language. */
export const selectMatchingInOwnLanguage = matching(
  'matching-own-language',
  `coalesce(CASE WHEN c.display IS NULL THEN ' ' || ${inLanguage} END, ${own})`,
)

/** How the values of a property are found, as `place` and `value`, of the system that the first parameter names. */
export interface ValueStatements {
  /** Whether the second parameter is the name of the property. */
  readonly isNamed: boolean
  /** Has one of the values, the last parameter: JSON. */
  readonly among: Sql
  readonly exists: Sql
  /** Values of the concepts from a place to another one, exclusive, the last two parameters. */
  readonly page: Sql
}

const valueStatements = (
  name: string,
  from: string,
  { place, value, isNamed = false }: { readonly place: string; readonly value: string; readonly isNamed?: boolean },
): ValueStatements => ({
  isNamed,
  among: listed(`${name}-among`, {
    sqlite: `SELECT ${place} AS place FROM ${from} AND ${value} IN ${JSON_TEXTS.sqlite}`,
    postgres: `SELECT ${place} AS place FROM ${from} AND ${value} IN ${JSON_TEXTS.postgres}`,
  }),
  exists: listed(`${name}-exists`, `SELECT ${place} AS place FROM ${from} AND ${value} IS NOT NULL`),
  page: sql(
    `terminology.${name}-page`,
    `SELECT ${place} AS place, ${value} AS value FROM ${from} AND ${value} IS NOT NULL AND ${place} >= ? AND ${place} < ?`,
  ),
})

const CONCEPT = 'tx_concept c WHERE c.system = ?'
const edges = (other: string): string =>
  `tx_edge e JOIN tx_concept o ON o.system = e.system AND o.place = e.${other} WHERE e.system = ?`
const CODE = valueStatements('code', CONCEPT, { place: 'c.place', value: 'c.code' })

export const VALUES: Readonly<Record<string, ValueStatements>> = {
  code: CODE,
  concept: CODE,
  display: valueStatements('display', CONCEPT, { place: 'c.place', value: 'c.display' }),
  definition: valueStatements('definition', 'tx_detail d WHERE d.system = ?', {
    place: 'd.place',
    value: 'd.definition',
  }),
  parent: valueStatements('parent', edges('parent'), { place: 'e.child', value: 'o.code' }),
  child: valueStatements('child', edges('child'), { place: 'e.parent', value: 'o.code' }),
}
export const PROPERTY_VALUES = valueStatements('property', 'tx_property p WHERE p.system = ? AND p.name = ?', {
  ...{ place: 'p.place', value: 'p.value', isNamed: true },
})
/**
 * `among` of a property by its index, which SQLite would not choose without statistics. Parameters: JSON of the heads, system,
 * name, JSON of the values.
 */
export const selectByProperty = listed('property-heads', {
  sqlite: `SELECT p.place FROM json_each(?) h CROSS JOIN tx_property p INDEXED BY tx_property_value WHERE p.system = ? AND p.name = ? AND p.head = h.value AND p.value IN ${JSON_TEXTS.sqlite}`,
  postgres: `SELECT p.place FROM tx_property p WHERE p.head = ${ANY_TEXT} AND p.system = ? AND p.name = ? AND p.value IN ${JSON_TEXTS.postgres}`,
})
