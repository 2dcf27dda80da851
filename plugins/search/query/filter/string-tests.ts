/** Comparisons of strings and URIs in a filter: equality, prefix, suffix, substring and alphabetical order. */
import { SearchEmpty } from '../../errors.ts'
import { normalize, toPrefixKey } from '../../index/normalize.ts'
import { and, type Fragment, isIn, q, raw } from '../../sql/fragment.ts'
import type { IndexLookup } from '../index-lookup.ts'
import { checkedParam, contains, prefixLookup, stringRow } from '../lookups/string.ts'
import { codesOf, type ValueContext } from '../value-context.ts'

export const STRING_OPERATORS = ['eq', 'co', 'sw', 'ew', 'gt', 'lt', 'ge', 'le'] as const
export type StringOperator = (typeof STRING_OPERATORS)[number]

const WHOLE = raw('coalesce(x.tail, x.val)')
const SIGNS = { gt: '>', lt: '<', ge: '>=', le: '<=' } as const

const endsWith = (dialect: ValueContext['dialect'], text: string): Fragment =>
  dialect === 'sqlite'
    ? q`substr(${WHOLE}, ${-[...text].length}) = ${text}`
    : q`right(${WHOLE}, ${[...text].length}) = ${text}`

/** `folds`: true for strings, which are compared without case and accents; false for URIs. */
export const stringTest = (
  context: ValueContext,
  operator: StringOperator,
  value: string,
  folds: boolean,
): IndexLookup => {
  const { name, dialect, columns } = context
  const codes = codesOf(columns)
  const text = folds ? normalize(value) : value
  if (text === '') throw SearchEmpty(name)
  if (operator === 'sw') return prefixLookup(dialect, codes, text)
  const lookup = (where: Fragment, test: (one: string) => boolean): IndexLookup => ({
    table: 'ix_str',
    where: and([isIn('x.param', codes), where]),
    check: and([isIn(checkedParam(dialect), codes), where]),
    isOrdered: false,
    probeable: true,
    matches: stringRow(codes, test),
  })
  switch (operator) {
    case 'eq':
      return lookup(q`x.val = ${toPrefixKey(text)} AND ${WHOLE} = ${text}`, (one) => one === text)
    case 'co':
      return lookup(contains(dialect, text), (one) => one.includes(text))
    case 'ew':
      return lookup(endsWith(dialect, text), (one) => one.endsWith(text))
    default: {
      const sign = SIGNS[operator]
      const compare = { '>': 1, '<': -1, '>=': 1, '<=': -1 }[sign]
      return lookup(
        q`${WHOLE} ${raw(sign)} ${text}`,
        (one) =>
          Math.sign(Buffer.compare(Buffer.from(one), Buffer.from(text))) === compare ||
          (sign.length > 1 && one === text),
      )
    }
  }
}
