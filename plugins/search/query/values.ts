/** Splits a value into its alternatives: `a,b` matches a or b. https://hl7.org/fhir/R4/search.html#combining */
import { SearchEmpty, SearchTooCostly } from '../errors.ts'
import { splitEscaped } from './escape.ts'
import { short } from './parameter-name.ts'

export const MAX_VALUES = 1_000 // most values of one parameter

/** Throws 400 when there is no value, or more than MAX_VALUES. */
export const valuesOf = (name: string, value: string): readonly string[] => {
  const values = splitEscaped(value, ',')
  if (values.length > MAX_VALUES)
    throw SearchTooCostly(`"${short(name)}" has ${values.length} values, at most ${MAX_VALUES} are allowed`)
  const given = values.filter((one) => one !== '')
  if (given.length === 0) throw SearchEmpty(short(name))
  return given
}
