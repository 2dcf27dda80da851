import type { TypeFields } from '../../snapshot/fields.ts'

/** The fields of a type by its canonical URL. `undefined`: not installed. `null`: not loaded yet. */
export type TypeFieldsOf = (url: string) => TypeFields | null | undefined

/** Thrown when a definition that is needed is not loaded yet; the caller loads it and validates again. */
export class Pending extends Error {}
