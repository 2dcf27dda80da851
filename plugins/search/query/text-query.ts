/**
 * `_text` and `_content`: words that must all occur, `OR`, `NOT`, parentheses, "words in sequence" and prefix*.
 * https://hl7.org/fhir/R4/search.html#content
 */

import { SearchEmpty, SearchIndexing, SearchTooCostly, SearchUnsupportedParameter, SearchValue } from '../errors.ts'
import { toTerms } from '../index/full-text/resource-text.ts'
import type { FullTextIndex } from '../index/full-text/text-index.ts'
import { asRefusal } from '../index/indexing-refusal.ts'
import { type Fragment, q, raw } from '../sql/fragment.ts'
import { allClause, anyClause, type ClauseText, notClause, type SearchClause } from './clause.ts'
import { unescapeValue } from './escape.ts'
import { short } from './parameter-name.ts'
import { valuesOf } from './values.ts'

const MAX_TERMS = 50
const MAX_DEPTH = 16 // nested parentheses
const TOKEN = /\s*(?:(?<sign>[()]|-(?=["\p{L}\p{N}(]))|"(?<phrase>[^"]*)"(?<opens>\*?)|(?<word>[^\s()"]+))/uy

interface Term {
  readonly words: readonly string[]
  /** True when the last word is a prefix. */
  readonly prefix: boolean
}

type Expression =
  | { readonly kind: 'term'; readonly term: Term }
  | { readonly kind: 'not'; readonly of: Expression }
  | { readonly kind: 'and'; readonly parts: readonly Expression[] }
  | { readonly kind: 'or'; readonly parts: readonly Expression[] }

/** Parses the query. Undefined when it contains no word. Throws 400 for a syntax error. */
export const readTextQuery = (name: string, text: string): Expression | undefined => {
  const tokens: Record<string, string | undefined>[] = []
  TOKEN.lastIndex = 0
  while (TOKEN.lastIndex < text.trimEnd().length) {
    const match = TOKEN.exec(text)
    if (match === null) throw SearchValue(name, 'words to look for: a quote is not closed')
    tokens.push(match.groups as Record<string, string | undefined>)
  }
  let at = 0
  let terms = 0
  const is = (word: string): boolean => tokens[at]?.word === word
  const toTerm = (given: string, prefix: boolean): Expression | undefined => {
    const words = toTerms(given)
    if (words === '') return undefined
    terms += 1
    if (terms > MAX_TERMS) throw SearchTooCostly(`"${name}" has more than ${MAX_TERMS} words`)
    return { kind: 'term', term: { words: words.split(' '), prefix } }
  }
  const readOne = (depth: number): Expression | undefined => {
    const token = tokens[at]
    at += 1
    if (token === undefined || token.sign === ')') throw SearchValue(name, 'words to look for: one is missing')
    if (token.sign === '(') {
      if (depth > MAX_DEPTH) throw SearchTooCostly(`"${name}" nests more than ${MAX_DEPTH} levels deep`)
      const inside = readAny(depth + 1)
      if (tokens[at]?.sign !== ')') throw SearchValue(name, 'words to look for: a parenthesis is not closed')
      at += 1
      return inside
    }
    if (token.sign === '-' || token.word === 'NOT') {
      if (depth > MAX_DEPTH) throw SearchTooCostly(`"${name}" nests more than ${MAX_DEPTH} levels deep`)
      const of = readOne(depth + 1)
      return of === undefined ? undefined : { kind: 'not', of }
    }
    if (token.word === 'AND' || token.word === 'OR') throw SearchValue(name, 'words to look for: one is missing')
    if (token.phrase !== undefined) return toTerm(token.phrase, token.opens === '*')
    const word = token.word as string
    return toTerm(word, word.endsWith('*'))
  }
  const join = (kind: 'and' | 'or', parts: readonly (Expression | undefined)[]): Expression | undefined => {
    const present = parts.filter((one) => one !== undefined)
    return present.length < 2 ? present[0] : { kind, parts: present }
  }
  const readAll = (depth: number): Expression | undefined => {
    const parts = [readOne(depth)]
    while (at < tokens.length && tokens[at]?.sign !== ')' && !is('OR')) {
      if (is('AND')) at += 1
      parts.push(readOne(depth))
    }
    return join('and', parts)
  }
  const readAny = (depth: number): Expression | undefined => {
    const parts = [readAll(depth)]
    while (is('OR')) {
      at += 1
      parts.push(readAll(depth))
    }
    return join('or', parts)
  }
  const found = readAny(0)
  if (at < tokens.length) throw SearchValue(name, 'words to look for: a parenthesis is closed that was not opened')
  return found
}

/** Selects the resource keys with a term, of all types. */
const ridsOf = (dialect: 'sqlite' | 'postgres', isNarrative: boolean, { words, prefix }: Term): Fragment => {
  if (dialect === 'sqlite') {
    const match = `${isNarrative ? 'narrative : ' : ''}"${words.join(' ')}"${prefix ? ' *' : ''}`
    return q`SELECT x.rowid AS rid FROM ix_words x WHERE ix_words MATCH ${match}`
  }
  const flags = `${prefix ? '*' : ''}${isNarrative ? 'A' : ''}`
  const query = words.map((word, at) => {
    const own = at === words.length - 1 ? flags : isNarrative ? 'A' : ''
    return own === '' ? `'${word}'` : `'${word}':${own}`
  })
  return q`SELECT x.rid AS rid FROM ix_words x WHERE x.words @@ to_tsquery('simple', ${query.join(' <-> ')})`
}

/**
 * Keeps those of one type, with one seek for each: PostgreSQL would otherwise underestimate how rare a word is and
 * read all resources of the type.
 */
const ofType = (dialect: 'sqlite' | 'postgres', type: number, rids: Fragment): Fragment =>
  dialect === 'sqlite'
    ? q`SELECT t.rid AS rid FROM (${rids}) f CROSS JOIN ix_res t WHERE t.type = ${type} AND t.rid = f.rid`
    : q`SELECT t.rid AS rid FROM (${rids} OFFSET 0) f CROSS JOIN LATERAL (SELECT y.rid FROM ix_res y WHERE y.type = ${type} AND y.rid = f.rid OFFSET 0) t`

export const createTextCriteria = (
  dialect: 'sqlite' | 'postgres',
  index: Pick<FullTextIndex, 'mode' | 'isComplete'>,
) => {
  const toCondition = (named: ClauseText, type: number, isNarrative: boolean, asked: Expression): SearchClause => {
    const inner = (one: Expression): SearchClause => toCondition(named, type, isNarrative, one)
    if (asked.kind === 'not') return notClause(named, inner(asked.of))
    if (asked.kind === 'and') return allClause(named, asked.parts.map(inner))
    if (asked.kind === 'or') return anyClause(named, asked.parts.map(inner))
    const rids = ridsOf(dialect, isNarrative, asked.term)
    return {
      ...named,
      checkSql: (d) => q`${raw(d)}.rid IN (${rids})`,
      sources: [{ keysSql: ofType(dialect, type, rids), isOrdered: false }],
    }
  }
  const { mode } = index
  /** `type`: the code of the searched type. Throws 400, and 503 while the index is filled. */
  return (type: number, name: '_text' | '_content', value: string): SearchClause => {
    if (mode === 'none' || (mode === 'narrative' && name === '_content'))
      throw SearchUnsupportedParameter(name, `the setting full_text is "${mode}"`)
    if (!index.isComplete) throw asRefusal(SearchIndexing(name, ''))
    const named = {
      text: `${name}=${short(value)}`,
      description: `words of the ${name === '_text' ? 'narrative' : 'resource'}`,
    }
    const asked = valuesOf(name, value).map((one) => readTextQuery(name, unescapeValue(one)))
    const parts = asked.filter((one) => one !== undefined)
    if (parts.length < asked.length) throw SearchEmpty(name)
    return toCondition(
      named,
      type,
      name === '_text',
      parts.length === 1 ? (parts[0] as Expression) : { kind: 'or', parts },
    )
  }
}
