/** Lookups of strings by prefix, by substring and exactly. https://hl7.org/fhir/R4/search.html#string */
import { SearchEmpty } from '../../errors.ts'
import type { IndexEntries } from '../../index/index-entries.ts'
import { KEY_CHARS, normalize, toPrefixKey } from '../../index/normalize.ts'
import { type Fragment, isIn, q, raw } from '../../sql/fragment.ts'
import { unescapeValue } from '../escape.ts'
import { type IndexLookup, someRow } from '../index-lookup.ts'
import { codesOf, LAST, type ValueContext } from '../value-context.ts'

const startsWith = (dialect: ValueContext['dialect'], key: Fragment, tail: Fragment, text: string): Fragment =>
  dialect === 'sqlite'
    ? q`substr(coalesce(${tail}, ${key}), 1, ${[...text].length}) = ${text}`
    : q`starts_with(coalesce(${tail}, ${key}), ${text})`

/** A condition on normalized text that begins with `text`: `column` holds keys, `tail` the whole of longer texts. */
export const beginsWith = (dialect: ValueContext['dialect'], column: string, tail: string, text: string): Fragment => {
  const key = toPrefixKey(text)
  const range = q`${raw(column)} >= ${key} AND ${raw(column)} < ${key + LAST}`
  return text.length <= KEY_CHARS ? range : q`${range} AND ${startsWith(dialect, raw(column), raw(tail), text)}`
}

export const contains = (dialect: ValueContext['dialect'], text: string): Fragment =>
  dialect === 'sqlite'
    ? q`instr(coalesce(x.tail, x.val), ${text}) > 0`
    : q`strpos(coalesce(x.tail, x.val), ${text}) > 0`

/**
 * The column of the parameter in conditions on whole texts that check a resource. For each resource SQLite would scan all rows of
 * the parameter, because only the primary key has the column `tail`. With the plus it seeks the rows of the resource.
 */
export const checkedParam = (dialect: ValueContext['dialect']): string =>
  dialect === 'sqlite' ? '+x.param' : 'x.param'

export const stringRow =
  (codes: readonly number[], test: (text: string, exact: unknown) => boolean) =>
  ({ string }: IndexEntries): boolean =>
    someRow(
      string,
      4,
      (at) => codes.includes(string[at] as number) && test(String(string[at + 3] ?? string[at + 1]), string[at + 2]),
    )

/** Matches strings that begin with `text`. */
export const prefixLookup = (
  dialect: ValueContext['dialect'],
  codes: readonly number[],
  text: string,
): IndexLookup => ({
  table: 'ix_str',
  where: q`${isIn('x.param', codes)} AND ${beginsWith(dialect, 'x.val', 'x.tail', text)}`,
  isOrdered: false,
  probeable: true,
  matches: stringRow(codes, (one) => one.startsWith(text)),
})

export const stringLookups = (
  context: ValueContext,
  values: readonly string[],
  modifier: string | undefined,
): IndexLookup[] => {
  const { name, hasher, dialect } = context
  const codes = codesOf(context.columns)
  return values.map((value) => {
    const text = unescapeValue(value)
    const folded = normalize(text)
    // The value consists of marks and spaces only, so nothing is left to compare.
    if (folded === '') throw SearchEmpty(name)
    if (modifier === 'exact') {
      const exact = hasher.long(text)
      return {
        table: 'ix_str',
        where: q`${isIn('x.param', codes)} AND x.val = ${toPrefixKey(folded)} AND x.exact = ${exact}`,
        isOrdered: codes.length === 1,
        probeable: true,
        matches: stringRow(codes, (_one, hash) => hash === exact),
      }
    }
    if (modifier === 'contains')
      return {
        table: 'ix_str',
        where: q`${isIn('x.param', codes)} AND ${contains(dialect, folded)}`,
        check: q`${isIn(checkedParam(dialect), codes)} AND ${contains(dialect, folded)}`,
        isOrdered: false,
        probeable: true,
        matches: stringRow(codes, (one) => one.includes(folded)),
      }
    return prefixLookup(dialect, codes, folded)
  })
}
