/** URIs: exact, above and below at the slashes. https://hl7.org/fhir/R4/search.html#uri */
import { SearchEmpty } from './errors.ts'
import { unescapeValue } from './escape.ts'
import { toKey } from './fold.ts'
import { and, isIn } from './fragment.ts'
import type { Lookup } from './lookup.ts'
import { prefixLookup, stringRow } from './string-lookups.ts'
import { codesOf, type ValueContext } from './value-context.ts'

/** `http://a/b/c` and everything above it at a slash. */
const above = (uri: string): readonly string[] => {
  const found = [uri]
  for (let at = uri.length - 1; at > 0; at -= 1)
    if (uri.charAt(at) === '/' && !uri.slice(0, at + 1).endsWith('://'))
      found.push(uri.slice(0, at), uri.slice(0, at + 1))
  return [...new Set(found)].slice(0, 64)
}

export const uriLookups = (
  { hasher, columns, dialect, name }: ValueContext,
  values: readonly string[],
  modifier: string | undefined,
): Lookup[] => {
  const codes = codesOf(columns)
  const exactly = (uris: readonly string[]): Lookup => {
    const hashes = uris.map(hasher.long)
    return {
      table: 'ix_str',
      where: and([isIn('x.param', codes), isIn('x.val', [...new Set(uris.map(toKey))]), isIn('x.exact', hashes)]),
      ordered: codes.length === 1 && uris.length === 1,
      probeable: true,
      test: stringRow(codes, (_one, hash) => hashes.includes(hash as number)),
    }
  }
  const uris = values.map(unescapeValue)
  if (uris.some((uri) => uri === '')) throw SearchEmpty(name)
  if (modifier === 'below') return uris.map((uri) => prefixLookup(dialect, codes, uri))
  return [exactly(modifier === 'above' ? uris.flatMap(above) : uris)]
}
