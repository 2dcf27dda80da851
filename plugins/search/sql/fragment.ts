/**
 * A piece of SQL text with its parameters. Pieces are joined in order; values are always parameters and never part of
 * the text.
 */
import type { SqlParam } from '../../database/service.ts'

export class Fragment {
  readonly text: string
  readonly params: readonly SqlParam[]

  constructor(text: string, params: readonly SqlParam[]) {
    this.text = text
    this.params = params
  }
}

/** SQL text that this code writes itself: names of tables, columns and aliases. Never text of a client. */
export const raw = (text: string): Fragment => new Fragment(text, [])

export type Piece = Fragment | SqlParam

/**
 * Builds a fragment: `q\`rid = ${rid} AND ${condition}\`` inserts the text of fragments and turns every other value
 * into a parameter.
 */
export const q = (texts: TemplateStringsArray, ...pieces: readonly Piece[]): Fragment => {
  let text = texts[0] as string
  const params: SqlParam[] = []
  for (let at = 0; at < pieces.length; at += 1) {
    const piece = pieces[at] as Piece
    if (piece instanceof Fragment) {
      text += piece.text
      for (const param of piece.params) params.push(param)
    } else {
      text += '?'
      params.push(piece)
    }
    text += texts[at + 1]
  }
  return new Fragment(text, params)
}

export const join = (fragments: readonly Fragment[], separator: string): Fragment =>
  new Fragment(
    fragments.map(({ text }) => text).join(separator),
    fragments.flatMap(({ params }) => params),
  )

export const and = (fragments: readonly Fragment[]): Fragment =>
  fragments.length === 0 ? raw('1 = 1') : join(fragments, ' AND ')

const MAX_FLAT = 100 // of conditions beside each other; SQLite parses a list of n into a tree n levels deep, at most 1,000

/** Long lists are divided in halves, so that the tree of the condition stays shallow. */
export const or = (fragments: readonly Fragment[]): Fragment => {
  if (fragments.length === 0) return raw('1 = 0')
  if (fragments.length === 1) return fragments[0] as Fragment
  if (fragments.length <= MAX_FLAT) return q`(${join(fragments, ' OR ')})`
  const half = Math.ceil(fragments.length / 2)
  return q`(${or(fragments.slice(0, half))} OR ${or(fragments.slice(half))})`
}

const MAX_TERMS = 250 // SQLite takes 500 in one compound SELECT
const UNION = ' UNION ALL '

/** The rows of all statements, each of which selects `rid`. More than a compound SELECT may have are divided into several. */
export const unionAll = (selects: readonly Fragment[]): Fragment => {
  if (selects.length === 1) return selects[0] as Fragment
  const terms = selects.map(({ text }) => text.split(UNION).length)
  if (terms.reduce((sum, one) => sum + one, 0) <= MAX_TERMS) return join(selects, UNION)
  const groups: Fragment[][] = []
  let size = MAX_TERMS
  for (const [at, select] of selects.entries()) {
    const more = terms[at] as number
    if (size + more > MAX_TERMS) {
      groups.push([])
      size = 0
    }
    groups.at(-1)?.push(select)
    size += more
  }
  // With a limit, because SQLite would merge the parts into one compound SELECT again.
  const parts = groups.map((group) => q`SELECT rid FROM (${join(group, UNION)} LIMIT ${Number.MAX_SAFE_INTEGER}) u`)
  return join(parts, UNION)
}

/**
 * `x.val = ?` or `x.val IN (?, ?, …)`. Longer lists are padded to a power of two by repeating the last value, so that
 * few different texts have to be prepared.
 */
export const isIn = (column: string, values: readonly SqlParam[]): Fragment => {
  const [only] = values
  if (only === undefined) return raw('1 = 0')
  if (values.length === 1) return new Fragment(`${column} = ?`, [only])
  const size = 2 ** Math.ceil(Math.log2(values.length))
  const filled = [...values, ...Array<SqlParam>(size - values.length).fill(values.at(-1) as SqlParam)]
  return new Fragment(`${column} IN (${filled.map(() => '?').join(', ')})`, filled)
}
