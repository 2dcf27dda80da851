/**
 * Lookups of URIs: exact, and `:above` and `:below`, which compare path segments.
 * https://hl7.org/fhir/R4/search.html#uri
 */
import { SearchEmpty, SearchValue } from '../../errors.ts'
import { toPrefixKey } from '../../index/normalize.ts'
import { and, isIn } from '../../sql/fragment.ts'
import { unescapeValue } from '../escape.ts'
import type { IndexLookup } from '../index-lookup.ts'
import { codesOf, type ValueContext } from '../value-context.ts'
import { prefixLookup, stringRow } from './string.ts'

const MAX_ABOVE = 64

/** The canonical with the version and its beginnings: for `1.2-beta` also `1.2` and `1`. */
const versionsAbove = (url: string, version: string): readonly string[] => {
  const found: string[] = []
  for (
    let at = version.length;
    at > 0;
    at = Math.max(version.lastIndexOf('.', at - 1), version.lastIndexOf('-', at - 1))
  )
    found.push(`${url}|${version.slice(0, at)}`)
  return found.slice(0, MAX_ABOVE)
}

/**
 * The URI and its beginnings up to a slash. For a canonical with a version: the same URL with the version and its
 * beginnings.
 */
const above = (uri: string): readonly string[] => {
  const [url, version] = splitVersion(uri)
  if (version !== undefined) return versionsAbove(url, version)
  const found: string[] = [url]
  for (let at = url.length - 1; at > 0; at -= 1)
    if (url.charAt(at) === '/' && !url.slice(0, at + 1).endsWith('://'))
      found.push(url.slice(0, at), url.slice(0, at + 1))
  return [...new Set(found)].slice(0, MAX_ABOVE)
}

/** Splits a canonical into its URL and version. */
const splitVersion = (uri: string): readonly [string, string | undefined] => {
  const bar = uri.indexOf('|')
  const version = bar === -1 ? '' : uri.slice(bar + 1)
  return [bar === -1 ? uri : uri.slice(0, bar), version === '' ? undefined : version]
}

export const uriLookups = (
  { hasher, columns, dialect, name }: ValueContext,
  values: readonly string[],
  modifier: string | undefined,
): IndexLookup[] => {
  const codes = codesOf(columns)
  const exactly = (uris: readonly string[]): IndexLookup => {
    const hashes = uris.map(hasher.long)
    return {
      table: 'ix_str',
      where: and([isIn('x.param', codes), isIn('x.val', [...new Set(uris.map(toPrefixKey))]), isIn('x.exact', hashes)]),
      isOrdered: codes.length === 1 && uris.length === 1,
      probeable: true,
      matches: stringRow(codes, (_one, hash) => hashes.includes(hash as number)),
    }
  }
  const uris = values.map(unescapeValue)
  if (uris.some((uri) => uri === '')) throw SearchEmpty(name)
  if (modifier !== undefined && uris.some((uri) => /^urn:/i.test(uri)))
    throw SearchValue(name, `a URL, which :${modifier} needs: a URN has nothing above or below it`)
  if (modifier === 'below')
    return uris.flatMap((uri) => {
      const [url, version] = splitVersion(uri)
      if (version === undefined) return [prefixLookup(dialect, codes, url)]
      const whole = `${url}|${version}`
      return [exactly([whole]), ...['.', '-'].map((next) => prefixLookup(dialect, codes, whole + next))]
    })
  return [exactly(modifier === 'above' ? uris.flatMap(above) : uris)]
}
