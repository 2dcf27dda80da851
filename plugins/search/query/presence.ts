/** `:missing`, which tests bits of the resource row. https://hl7.org/fhir/R4/search.html#modifiers */

import { COLUMN_STEP } from '../definition/column-codes.ts'
import type { Parameter } from '../definition/parameter.ts'
import { SearchUnsupportedParameter, SearchValue } from '../errors.ts'
import { MASK_BITS } from '../index/columns.ts'
import {
  COMPOSITE_COLUMNS,
  DATE_COLUMNS,
  type IndexEntries,
  QUANTITY_COLUMNS,
  REFERENCE_COLUMNS,
  STRING_COLUMNS,
  TOKEN_COLUMNS,
} from '../index/index-entries.ts'
import { missingClause, type SearchClause } from './clause.ts'

export const presence = (type: number, name: string, { code, columns }: Parameter, value: string): SearchClause => {
  if (value !== 'true' && value !== 'false') throw SearchValue(name, 'true or false')
  if (columns.some(({ bit }) => bit < 0))
    throw SearchUnsupportedParameter(name, 'there are too many parameters of this type')
  const codes = new Set(columns.map((column) => column.presence))
  const has = (list: readonly unknown[], width: number): boolean => {
    for (let at = 0; at < list.length; at += width)
      if (codes.has(Math.floor((list[at] as number) / COLUMN_STEP) * COLUMN_STEP)) return true
    return false
  }
  const test = ({ token, reference, date, quantity, string, composite, present }: IndexEntries): boolean =>
    has(token, TOKEN_COLUMNS) ||
    has(reference, REFERENCE_COLUMNS) ||
    has(date, DATE_COLUMNS) ||
    has(quantity, QUANTITY_COLUMNS) ||
    has(string, STRING_COLUMNS) ||
    has(composite, COMPOSITE_COLUMNS) ||
    has(present, 1)
  const bits = columns.map(({ bit }) => ({ mask: Math.floor(bit / MASK_BITS), bit: bit % MASK_BITS }))
  return missingClause(
    { text: `${name}=${value}`, description: `${code} is ${value === 'true' ? 'missing' : 'present'}` },
    type,
    bits,
    value === 'false',
    test,
  )
}
