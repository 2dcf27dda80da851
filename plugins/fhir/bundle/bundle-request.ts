/**
 * Parses a Bundle that was sent: its entries with their requests, and the original text of their resources.
 * https://hl7.org/fhir/R4/bundle.html
 */
import { type Interaction, isServerError, type RequestContext, type ServerError } from '../../../kernel/index.ts'
import type { JsonMember } from '../../model/service.ts'
import { membersAt, parseLazily, skipSpace } from '../../model/service.ts'
import { parseBody } from '../interactions/incoming-resource.ts'
import type { LargeBody, UnreadableBody } from '../large/large-bodies.ts'
import {
  BundleExpected,
  BundleMalformed,
  BundleTooLarge,
  DuplicateFullUrl,
  EntryMalformed,
  EntryMethodUnknown,
  NestedBundle,
} from './errors.ts'
import { createYield } from './yield.ts'

export const MAX_ENTRIES = 10_000

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
export type EntryMethod = (typeof METHODS)[number]

/** The order in which R4 processes methods: DELETE, POST, PUT and PATCH, GET. */
export const RANK: Readonly<Record<EntryMethod, number>> = { DELETE: 0, POST: 1, PUT: 2, PATCH: 2, GET: 3, HEAD: 3 }

/** Conditions of an entry, and the HTTP headers that mean the same. */
const CONDITIONS = {
  ifNoneMatch: 'if-none-match',
  ifModifiedSince: 'if-modified-since',
  ifMatch: 'if-match',
  ifNoneExist: 'if-none-exist',
} as const

export interface BundleEntry {
  readonly index: number
  readonly method: EntryMethod
  readonly url: string
  readonly fullUrl: string | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly resource: Record<string, unknown> | undefined
  /** The original text of the resource. */
  readonly text: string | undefined
}

export interface RefusedEntry {
  readonly index: number
  /** Method and URL of its request, as far as they could be read. */
  readonly method: EntryMethod | undefined
  readonly url: string | undefined
  readonly error: ServerError
}

export interface BundleRequest {
  readonly kind: Extract<Interaction['kind'], 'batch' | 'transaction'>
  readonly entries: readonly (BundleEntry | RefusedEntry)[]
}

export const isRefused = (entry: BundleEntry | RefusedEntry): entry is RefusedEntry => 'error' in entry

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const textIn = (object: Record<string, unknown>, key: string): string | undefined => {
  const value = object[key]
  if (value === undefined) return undefined
  if (typeof value !== 'string' || value === '') throw EntryMalformed(`${key} is a text`)
  return value
}

const isMethod = (value: unknown): value is EntryMethod => METHODS.includes(value as EntryMethod)

const requestOf = (value: unknown): Pick<RefusedEntry, 'method' | 'url'> => {
  const request = isObject(value) && isObject(value.request) ? value.request : {}
  const { method, url } = request
  return { method: isMethod(method) ? method : undefined, url: typeof url === 'string' ? url : undefined }
}

const readEntry = (value: unknown, index: number, members: readonly JsonMember[], text: string): BundleEntry => {
  if (!isObject(value)) throw EntryMalformed('it is an object')
  const { request, resource } = value
  if (!isObject(request)) throw EntryMalformed('it has no request that says what to do')
  const method = textIn(request, 'method')
  const url = textIn(request, 'url')
  if (method === undefined) throw EntryMalformed('request.method is missing')
  if (url === undefined) throw EntryMalformed('request.url is missing')
  if (!isMethod(method)) throw EntryMethodUnknown(method.slice(0, 20))
  if (resource !== undefined && !isObject(resource)) throw EntryMalformed('its resource is an object')
  if (resource?.resourceType === 'Bundle') throw NestedBundle()
  const headers: Record<string, string> = {}
  for (const [element, header] of Object.entries(CONDITIONS)) {
    const condition = textIn(request, element)
    if (condition !== undefined) headers[header] = condition
  }
  const span = members.find(({ key }) => key === 'resource')
  return {
    index,
    method,
    url,
    fullUrl: textIn(value, 'fullUrl'),
    headers,
    resource,
    text: span === undefined ? undefined : text.slice(span.valueStart, span.valueEnd),
  }
}

const tryEntry = (
  value: unknown,
  index: number,
  members: readonly JsonMember[],
  text: string,
): BundleEntry | RefusedEntry => {
  try {
    return readEntry(value, index, members, text)
  } catch (error) {
    if (!isServerError(error)) throw error
    return { index, ...requestOf(value), error }
  }
}

const checkFullUrls = (entries: readonly (BundleEntry | RefusedEntry)[]): void => {
  const seen = new Map<string, number>()
  for (const entry of entries) {
    if (isRefused(entry) || entry.fullUrl === undefined) continue
    const first = seen.get(entry.fullUrl)
    if (first !== undefined)
      throw DuplicateFullUrl(first, entry.index).with({ expression: [`Bundle.entry[${entry.index}].fullUrl`] })
    seen.set(entry.fullUrl, entry.index)
  }
}

/** Throws 400 for anything but a batch or transaction. */
const kindOf = ({ resourceType, type }: Record<string, unknown>): BundleRequest['kind'] => {
  if (resourceType !== 'Bundle')
    throw BundleExpected(typeof resourceType === 'string' ? `of type "${resourceType.slice(0, 64)}"` : 'no resource')
  if (type !== 'batch' && type !== 'transaction')
    throw BundleExpected(typeof type === 'string' ? `a Bundle of type "${type.slice(0, 64)}"` : 'a Bundle without type')
  return type
}

/**
 * Like `readBundleRequest`, for a Bundle that a thread has read: entries are parsed one at a time, and other requests
 * are answered in between.
 */
export const readLargeEnvelope = async (
  body: LargeBody | UnreadableBody,
  request: RequestContext,
  known: (kind: BundleRequest['kind']) => void,
): Promise<BundleRequest> => {
  const { text, resource, members, outline } = parseBody(body) as LargeBody
  const kind = kindOf(resource)
  known(kind)
  const list = members.find(({ key }) => key === 'entry')
  const spans = list && outline?.items.get(list.valueStart)
  // The outline holds large values only. When the list is not in it, the list is small.
  if (spans === undefined) return readBundleRequest(body, known)
  const count = spans.length / 2
  if (count > MAX_ENTRIES) throw BundleTooLarge(count, MAX_ENTRIES)
  const breathe = createYield(request)
  const entries: (BundleEntry | RefusedEntry)[] = []
  for (let index = 0; index < count; index += 1) {
    const [start, end] = [spans[2 * index] as number, spans[2 * index + 1] as number]
    const value = parseLazily(text, start, end, outline)
    if (!isObject(value)) throw BundleMalformed(`entry[${index}] is an object`)
    entries.push(tryEntry(value, index, outline?.members.get(start) ?? membersAt(text, start), text))
    await breathe()
  }
  checkFullUrls(entries)
  return { kind, entries }
}

/**
 * Throws 400 for anything but a batch or transaction, 413 for too many entries. Calls `known` with the kind before it
 * reads the entries.
 */
export const readBundleRequest = (body: unknown, known: (kind: BundleRequest['kind']) => void): BundleRequest => {
  const { text, resource, members } = parseBody(body)
  const kind = kindOf(resource)
  known(kind)
  const { entry = [] } = resource
  if (!Array.isArray(entry)) throw BundleMalformed('entry is an array')
  if (entry.length > MAX_ENTRIES) throw BundleTooLarge(entry.length, MAX_ENTRIES)
  const entries: (BundleEntry | RefusedEntry)[] = []
  const list = members.find(({ key }) => key === 'entry')
  let at = list === undefined ? 0 : skipSpace(text, list.valueStart + 1)
  for (const [index, value] of entry.entries()) {
    const isSpanned = isObject(value)
    const found = isSpanned ? membersAt(text, at) : []
    entries.push(tryEntry(value, index, found, text))
    if (!isSpanned) throw BundleMalformed(`entry[${index}] is an object`)
    // Skips the closing brace of the entry and the comma.
    at = skipSpace(text, skipSpace(text, found.at(-1)?.valueEnd ?? at + 1) + 1)
    at = skipSpace(text, at + 1)
  }
  checkFullUrls(entries)
  return { kind, entries }
}
