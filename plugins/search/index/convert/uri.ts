/**
 * Converts URIs to keys. They are not normalized, because searches compare them exactly.
 * https://hl7.org/fhir/R4/search.html#uri
 */

import type { Hasher } from '../hash.ts'
import { toPrefixKey } from '../normalize.ts'
import { alike, type Convert } from './convert.ts'

export const createUriConverters = ({ long }: Hasher): Readonly<Record<string, Convert>> => {
  const uriUri: Convert = (rows, column, value) => {
    if (typeof value !== 'string' || value === '') return
    const key = toPrefixKey(value)
    rows.string.push(column, key, long(value), key.length === value.length ? null : value)
  }
  /**
   * A canonical with a version is also indexed without it, because a search without a version matches every version.
   */
  const uriCanonical: Convert = (rows, column, value) => {
    uriUri(rows, column, value)
    const bar = typeof value === 'string' ? value.indexOf('|') : -1
    if (bar > 0) uriUri(rows, column, value.slice(0, bar))
  }
  return { ...alike(uriUri, 'uri url oid uuid string code'), canonical: uriCanonical }
}
