/** A copy without objects and lists that have nothing in them: FHIR allows none. */
import { isObject } from '../questionnaire/json.ts'

/** Undefined where nothing is left. */
export const withoutEmpty = (value: unknown): unknown => {
  if (Array.isArray(value)) {
    const kept = value.map(withoutEmpty).filter((one) => one !== undefined)
    return kept.length === 0 ? undefined : kept
  }
  if (!isObject(value)) return value === null ? undefined : value
  const kept = Object.entries(value).flatMap(([key, inner]) => {
    const left = withoutEmpty(inner)
    return left === undefined ? [] : [[key, left] as const]
  })
  return kept.length === 0 ? undefined : Object.fromEntries(kept)
}
