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
export const or = (fragments: readonly Fragment[]): Fragment =>
  fragments.length === 0
    ? raw('1 = 0')
    : fragments.length === 1
      ? (fragments[0] as Fragment)
      : q`(${join(fragments, ' OR ')})`

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
