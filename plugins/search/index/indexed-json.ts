/** JSON of a resource as it is indexed: numbers whose digits a double does not hold keep them. */
import { isRounded, keepDigits } from '../../model/service.ts'

/** A member with a number of sixteen digits or more, or one so small that doubles lie far apart. Sixteen characters with the point. */
const LONG = /"\s*:\s*-?(?:\d[\d.]{15}|\d[\d.]*[eE]-\d{3})/

const keepLong = ((_key: string, value: unknown, { source }: { source?: string }) =>
  typeof value === 'number' && source !== undefined && isRounded(source, value) ? keepDigits(source) : value) as (
  key: string,
  value: unknown,
) => unknown

type Resource = Record<string, unknown>

export const parseIndexed = (text: string): Resource =>
  (LONG.test(text) ? JSON.parse(text, keepLong) : JSON.parse(text)) as Resource

/** The same of a resource that was parsed already: mostly the resource itself. */
export const indexedOf = (resource: Readonly<Resource>, text: string): Resource =>
  LONG.test(text) ? parseIndexed(text) : (resource as Resource)
