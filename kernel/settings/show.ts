/** Formats an invalid value for an error message: on one line, shortened, and without the passwords of URLs. */
import { withoutPasswords } from './secrets.ts'

const MAX_CHARACTERS = 60 // characters

const textOf = (value: unknown): string => {
  if (typeof value === 'bigint' || typeof value === 'number') return String(value)
  if (value instanceof Date) return value.toISOString()
  return JSON.stringify(withoutPasswords(value)) ?? typeof value
}

export const show = (value: unknown): string => {
  const text = textOf(value)
  return text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS)}…` : text
}
