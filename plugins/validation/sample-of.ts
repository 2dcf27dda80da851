/** A small part of a large resource that needs about the same definitions. */

const MAX_ITEMS = 8 // of a list: the first ones

/** A copy with the beginnings of all lists. */
export const sampleOf = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.slice(0, MAX_ITEMS).map(sampleOf)
  if (typeof value !== 'object' || value === null) return value
  const copy: Record<string, unknown> = {}
  for (const key in value) copy[key] = sampleOf((value as Record<string, unknown>)[key])
  return copy
}
