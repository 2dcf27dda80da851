/**
 * The id of a definition: made of its package, type and own id, so it is the same in every database and on every server. The
 * beginning is reserved: no resource is stored under such an id.
 */
import { createHash } from 'node:crypto'

const BEGIN = 'pkg-'
const DIGITS = 32 // hexadecimal
const FORM = /^pkg-[0-9a-f]{32}$/

/** `pack`: `name@version`. */
export const definitionId = (pack: string, type: string, id: string): string =>
  BEGIN + createHash('sha256').update(`${pack}\n${type}\n${id}`).digest('hex').slice(0, DIGITS)

export const isDefinitionId = (id: string): boolean => id.startsWith(BEGIN) && FORM.test(id)
