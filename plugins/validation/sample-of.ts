/** Makes a small sample of a large resource. Validating the sample loads most of the definitions that the whole needs. */

const MAX_ITEMS = 8 // items copied from each array

/** A deep copy with the first items of each array. */
export const sampleOf = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.slice(0, MAX_ITEMS).map(sampleOf)
  if (typeof value !== 'object' || value === null) return value
  const copy: Record<string, unknown> = {}
  for (const key in value) copy[key] = sampleOf((value as Record<string, unknown>)[key])
  return copy
}
