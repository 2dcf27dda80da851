/** A JSON object, such as a resource or an element. */
export type Json = Readonly<Record<string, unknown>>

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The objects of a list; empty for anything else. */
export const objectsIn = (value: unknown): readonly Json[] => (Array.isArray(value) ? value.filter(isObject) : [])

export const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)
