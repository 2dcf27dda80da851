/** `:missing`: bits of the resource row tell it. https://hl7.org/fhir/R4/search.html#modifiers */

import { COLUMN_STEP } from '../definition/column-codes.ts'
import type { Parameter } from '../definition/parameter.ts'
import { SearchUnsupportedParameter, SearchValue } from '../errors.ts'
import { MASK_BITS } from '../index/columns.ts'
import {
  COMPOSITE_WIDTH,
  DATE_WIDTH,
  QUANTITY_WIDTH,
  REFERENCE_WIDTH,
  type Rows,
  STRING_WIDTH,
  TOKEN_WIDTH,
} from '../index/index-entries.ts'
import { type Condition, presenceCondition } from './clause.ts'

export const presence = (type: number, name: string, { code, columns }: Parameter, value: string): Condition => {
  if (value !== 'true' && value !== 'false') throw SearchValue(name, 'true or false')
  if (columns.some(({ bit }) => bit < 0))
    throw SearchUnsupportedParameter(name, 'there are too many parameters of this type')
  const codes = new Set(columns.map((column) => column.presence))
  const has = (list: readonly unknown[], width: number): boolean => {
    for (let at = 0; at < list.length; at += width)
      if (codes.has(Math.floor((list[at] as number) / COLUMN_STEP) * COLUMN_STEP)) return true
    return false
  }
  const test = ({ token, reference, date, quantity, string, composite, present }: Rows): boolean =>
    has(token, TOKEN_WIDTH) ||
    has(reference, REFERENCE_WIDTH) ||
    has(date, DATE_WIDTH) ||
    has(quantity, QUANTITY_WIDTH) ||
    has(string, STRING_WIDTH) ||
    has(composite, COMPOSITE_WIDTH) ||
    has(present, 1)
  const bits = columns.map(({ bit }) => ({ mask: Math.floor(bit / MASK_BITS), bit: bit % MASK_BITS }))
  return presenceCondition(
    { text: `${name}=${value}`, understood: `${code} is ${value === 'true' ? 'missing' : 'present'}` },
    type,
    bits,
    value === 'false',
    test,
  )
}
