/** Compares JSON with the digits of its numbers: 1.0 and 1.00 differ. The order of members does not count. */
import { decimalText, isObject, parseExact } from '../../plugins/model/service.ts'

/** The path of the first difference; undefined where there is none. */
const differs = (one: unknown, other: unknown, path: string): string | undefined => {
  if (Array.isArray(one)) {
    if (!Array.isArray(other) || other.length !== one.length) return path
    for (const [at, item] of one.entries()) {
      const found = differs(item, other[at], `${path}[${at}]`)
      if (found !== undefined) return found
    }
    return undefined
  }
  if (isObject(one)) {
    if (!isObject(other) || Object.keys(other).length !== Object.keys(one).length) return path
    for (const key of Object.keys(one)) {
      const found = differs(one[key], other[key], `${path}.${key}`)
      if (found !== undefined) return found
    }
    return undefined
  }
  const digits = decimalText(one)
  return (digits === undefined ? one === other : digits === decimalText(other)) ? undefined : path
}

export const differenceIn = (one: string, other: string): string | undefined =>
  differs(parseExact(one), parseExact(other), '$')
