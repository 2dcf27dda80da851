/**
 * Turns an entry into the interaction that it requests: matches its URL with the server's addresses, and gives it the
 * shape of a request.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { MethodRefused, type RequestContext } from '../../../kernel/index.ts'
import type { InteractionName } from '../interactions/addresses.ts'
import { type AddressMethod, findAddress } from '../interactions/addresses.ts'
import type { AddressedChange } from '../interactions/change.ts'
import type { Interactions } from '../interactions/interactions.ts'
import type { AddressedRead } from '../interactions/read-interaction.ts'
import type { InteractionRequest } from '../interactions/request.ts'
import type { View } from '../view.ts'
import type { BundleEntry } from './bundle-request.ts'
import { EntryAddress, EntryResource, EntrySearch, EntryUrl, NestedBundle } from './errors.ts'

/** An entry, and the request that it stands for. */
export interface EntryRequest {
  readonly entry: BundleEntry
  readonly request: InteractionRequest
  readonly name: InteractionName
}

/** True when the entry writes the resource that its URL names; an operation does not. */
export const namesResource = ({ name }: Pick<EntryRequest, 'name'>): boolean => name !== 'operation'

/** The same entry, addressed: its address, parameters and conditions were read. */
export type EntryInteraction = EntryRequest &
  (
    | { readonly kind: 'change'; readonly addressed: AddressedChange }
    | { readonly kind: 'read'; readonly addressed: AddressedRead }
  )

const SCHEME = /^[a-z][a-z0-9+.-]*:/i

/**
 * Path segments and query of the URL in an entry. Throws 400 for a URL of another server. A URL that begins with the
 * own URL or with `baseUrl` means the same as its path alone.
 */
export const readUrl = (
  url: string,
  { baseUrl, ownUrl }: Pick<RequestContext, 'baseUrl' | 'ownUrl'>,
): { readonly segments: readonly string[]; readonly query: string } => {
  const base = [ownUrl, baseUrl].find((one) => one !== undefined && url.startsWith(`${one}/`))
  const own = base === undefined ? url : url.slice(base.length)
  if (SCHEME.test(own) || own.startsWith('//')) throw EntryUrl('it names another server')
  const [path = '', ...rest] = own.split('?')
  const query = rest.join('?')
  if (path.includes('#') || path.includes('\\')) throw EntryUrl('it holds a character that no path has')
  const parts = path.split('/').filter((one, at) => one !== '' || at > 0)
  // A slash at the end is ignored, as in the address of a request.
  if (parts.length > 1 && parts.at(-1) === '') parts.pop()
  let segments: string[]
  try {
    segments = parts.map(decodeURIComponent)
  } catch {
    throw EntryUrl('it is not percent-encoded correctly')
  }
  if (segments.some((one) => one === '' || one === '.' || one === '..' || one.includes('/')))
    throw EntryUrl('its segments are names')
  return { segments, query }
}

const NEEDS_RESOURCE = new Set(['POST', 'PUT', 'PATCH'])

/** True for GET metadata, which a Bundle answers although it is none of the interactions. Throws 400, 405. */
export const asksForCapabilities = ({ method, url }: BundleEntry, ctx: RequestContext): boolean => {
  const { segments } = readUrl(url, ctx)
  if (segments.length !== 1 || segments[0] !== 'metadata') return false
  if (method !== 'GET' && method !== 'HEAD') throw MethodRefused(method)
  return true
}

/** `isBatch`: the entry may also POST a search, with the parameters in its URL. Throws 400, 404, 405. */
export const toInteractionRequest = (
  ctx: RequestContext,
  entry: BundleEntry,
  headers: IncomingHttpHeaders,
  isBatch = false,
): EntryRequest => {
  const { method, url } = entry
  const { segments, query } = readUrl(url, ctx)
  const found = findAddress(segments)
  if (segments.length === 0 && method === 'POST') throw NestedBundle()
  if (found === undefined || (found.address.isForm === true && !isBatch)) throw EntryAddress()
  const { methods } = found.address
  const name = methods[(method === 'HEAD' ? 'GET' : method) as AddressMethod]
  if (name === undefined) throw MethodRefused(method)
  if (name === 'search' && entry.resource !== undefined) throw EntrySearch()
  if (NEEDS_RESOURCE.has(method) && name !== 'operation' && name !== 'search' && entry.resource === undefined)
    throw EntryResource()
  const path = `/${segments.map(encodeURIComponent).join('/')}`
  return {
    entry,
    name,
    request: {
      ctx,
      headers: { ...headers, ...entry.headers },
      method,
      url: query === '' ? path : `${path}?${query}`,
      params: found.params,
      entry: entry.index,
    },
  }
}

/** Throws 4xx when the address, a parameter or a condition is invalid. */
export const toEntryInteraction = (
  interactions: Pick<Interactions, 'address'>,
  view: View,
  given: EntryRequest,
): EntryInteraction => ({
  ...given,
  ...interactions.address(view, given.name, given.request),
})
