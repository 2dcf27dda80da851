/** fixed[x] and pattern[x]. https://hl7.org/fhir/R4/elementdefinition-definitions.html#ElementDefinition.pattern_x_ */
import { deepEqual } from '../../model/service.ts'

/** The value is exactly the fixed one. */
export const isFixed = (value: unknown, fixed: unknown): boolean => deepEqual(value, fixed)

/** Everything the pattern has is in the value; items of arrays in any order, among others. */
export const fitsPattern = (value: unknown, pattern: unknown): boolean => {
  if (Array.isArray(pattern)) {
    return Array.isArray(value) && pattern.every((one) => value.some((item) => fitsPattern(item, one)))
  }
  if (typeof pattern !== 'object' || pattern === null) return value === pattern
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  return Object.entries(pattern).every(([key, one]) => fitsPattern((value as Record<string, unknown>)[key], one))
}
