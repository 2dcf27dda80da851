/** Parses the JSON of a resource for the index: numbers whose digits a double cannot hold keep their digits. */
import { isRounded, keepDigits } from '../../model/service.ts'

/**
 * A member whose number may need that: sixteen or more characters of digits and point, or an exponent of at least
 * three digits below zero, where doubles are far apart.
 */
const LONG = /"\s*:\s*-?(?:\d[\d.]{15}|\d[\d.]*[eE]-\d{3})/

const keepLong = ((_key: string, value: unknown, { source }: { source?: string }) =>
  typeof value === 'number' && source !== undefined && isRounded(source, value) ? keepDigits(source) : value) as (
  key: string,
  value: unknown,
) => unknown

type Resource = Record<string, unknown>

export const parseIndexed = (text: string): Resource =>
  (LONG.test(text) ? JSON.parse(text, keepLong) : JSON.parse(text)) as Resource

/** Does the same for a resource that is already parsed. Mostly returns `resource` itself. */
export const indexedOf = (resource: Readonly<Resource>, text: string): Resource =>
  LONG.test(text) ? parseIndexed(text) : (resource as Resource)
