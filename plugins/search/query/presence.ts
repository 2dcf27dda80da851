/** `:missing`: bits of the resource row tell it. https://hl7.org/fhir/R4/search.html#modifiers */

import { COLUMN_STEP } from '../definition/column-codes.ts'
import type { Parameter } from '../definition/parameter.ts'
import { SearchUnsupportedParameter, SearchValue } from '../errors.ts'
import { MASK_BITS } from '../index/columns.ts'
import type { Rows } from '../index/index-entries.ts'
import { type Condition, presenceCondition } from './clause.ts'

export const presence = (type: number, name: string, { code, columns }: Parameter, value: string): Condition => {
  if (value !== 'true' && value !== 'false') throw SearchValue(name, 'true or false')
  if (columns.some(({ bit }) => bit < 0))
    throw SearchUnsupportedParameter(name, 'there are too many parameters of this type')
  const codes = new Set(columns.map((column) => column.code))
  const has = (list: readonly unknown[], width: number): boolean => {
    for (let at = 0; at < list.length; at += width)
      if (codes.has(Math.floor((list[at] as number) / COLUMN_STEP) * COLUMN_STEP)) return true
    return false
  }
  const test = ({ token, reference, date, quantity, string, composite }: Rows): boolean =>
    has(token, 3) || has(reference, 2) || has(date, 3) || has(quantity, 6) || has(string, 4) || has(composite, 10)
  const bits = columns.map(({ bit }) => ({ mask: Math.floor(bit / MASK_BITS), bit: bit % MASK_BITS }))
  return presenceCondition(
    { text: `${name}=${value}`, understood: `${code} is ${value === 'true' ? 'missing' : 'present'}` },
    type,
    bits,
    value === 'false',
    test,
  )
}
