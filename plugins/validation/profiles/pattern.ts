/** Compares values with fixed[x] and pattern[x]. https://hl7.org/fhir/R4/elementdefinition-definitions.html#ElementDefinition.pattern_x_ */
import { deepEqual } from '../../model/service.ts'

/** Whether the value is equal to the fixed value. */
export const isFixed = (value: unknown, fixed: unknown): boolean => deepEqual(value, fixed)

/** Whether the value has everything that the pattern has. Arrays may have more items, in any order. */
export const fitsPattern = (value: unknown, pattern: unknown): boolean => {
  if (Array.isArray(pattern)) {
    return Array.isArray(value) && pattern.every((one) => value.some((item) => fitsPattern(item, one)))
  }
  if (typeof pattern !== 'object' || pattern === null) return value === pattern
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  return Object.entries(pattern).every(([key, one]) => fitsPattern((value as Record<string, unknown>)[key], one))
}
