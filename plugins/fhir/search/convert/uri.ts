/** URIs → keys, kept as they are, because searches by prefix need it. https://hl7.org/fhir/R4/search.html#uri */
import { toKey } from '../fold.ts'
import type { Hasher } from '../hash.ts'
import { alike, type Convert } from './kind.ts'

export const createUriConverters = ({ long }: Hasher): Readonly<Record<string, Convert>> => {
  const uriUri: Convert = (rows, column, value) => {
    if (typeof value !== 'string' || value === '') return
    const key = toKey(value)
    rows.string.push(column, key, long(value), key.length === value.length ? null : value)
  }
  return alike(uriUri, 'uri url canonical oid uuid string code')
}
