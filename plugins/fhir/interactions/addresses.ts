/**
 * The addresses of the FHIR interface and their interactions, for HTTP routes and for entries of a Bundle.
 * https://hl7.org/fhir/R4/http.html#summary
 */

import type { PathParams } from './request.ts'

export type ReadName = 'read' | 'vread' | 'history' | 'search'
export type ChangeName = 'create' | 'update' | 'patch' | 'delete'
export type InteractionName = ReadName | ChangeName | 'operation'

export const HTTP_METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
export type AddressMethod = (typeof HTTP_METHODS)[number]

export interface Address {
  /** Fastify's spelling: `/:type/:id`. */
  readonly path: string
  readonly methods: Readonly<Partial<Record<AddressMethod, InteractionName>>>
  /**
   * The body is a form. An entry cannot have one, so a batch takes the parameters in its URL, and a transaction refuses
   * it.
   */
  readonly isForm?: boolean
}

export const ADDRESSES: readonly Address[] = [
  { path: '/', methods: { GET: 'search' } },
  { path: '/_search', methods: { POST: 'search' }, isForm: true },
  { path: '/$:operation', methods: { GET: 'operation', POST: 'operation' } },
  { path: '/_history', methods: { GET: 'history' } },
  { path: '/:type', methods: { GET: 'search', POST: 'create', PUT: 'update', PATCH: 'patch', DELETE: 'delete' } },
  { path: '/:type/$:operation', methods: { GET: 'operation', POST: 'operation' } },
  { path: '/:type/_search', methods: { POST: 'search' }, isForm: true },
  { path: '/:type/_history', methods: { GET: 'history' } },
  { path: '/:type/:id', methods: { GET: 'read', PUT: 'update', PATCH: 'patch', DELETE: 'delete' } },
  { path: '/:type/:id/$:operation', methods: { GET: 'operation', POST: 'operation' } },
  { path: '/:type/:id/_history', methods: { GET: 'history' } },
  { path: '/:type/:id/_history/:version', methods: { GET: 'vread' } },
  { path: '/:type/:id/:other', methods: { GET: 'search' } },
]

const segmentsOf = (path: string): readonly string[] => path.split('/').filter((one) => one !== '')

/**
 * A segment of a path: `:id` is a parameter, `$:operation` a parameter behind a dollar sign, `_history` is fixed text.
 */
interface Segment {
  readonly text: string
  readonly colon: number
  readonly param: keyof PathParams
}

const toSegment = (text: string): Segment => {
  const colon = text.indexOf(':')
  return { text, colon, param: text.slice(colon + 1) as keyof PathParams }
}

const PATTERNS = ADDRESSES.map((address) => ({ address, pattern: segmentsOf(address.path).map(toSegment) }))

const DOLLAR = 36
const UNDERSCORE = 95

/** `:id` matches segments that begin with neither `_` nor `$`; `$:operation` matches those that begin with `$`. */
const fits = ({ text, colon }: Segment, segment: string): boolean => {
  if (colon === -1) return text === segment
  const first = segment.charCodeAt(0)
  return colon === 0 ? first !== UNDERSCORE && first !== DOLLAR : first === DOLLAR
}

/** The address that the segments match, with its parameters; undefined when there is none. */
export const findAddress = (
  segments: readonly string[],
): { readonly address: Address; readonly params: PathParams } | undefined => {
  for (const { address, pattern } of PATTERNS) {
    if (pattern.length !== segments.length) continue
    if (!pattern.every((one, at) => fits(one, segments[at] as string))) continue
    // `:id` and `/Patient/1` → id and 1; `$:operation` and `$meta` → operation and meta.
    const params: { -readonly [Name in keyof PathParams]: PathParams[Name] } = {}
    for (const [at, { colon, param }] of pattern.entries())
      if (colon !== -1) params[param] = (segments[at] as string).slice(colon)
    return { address, params }
  }
  return undefined
}
