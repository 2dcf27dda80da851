/**
 * The addresses of the FHIR interface and the interactions each takes, for routes of HTTP and for entries of a Bundle.
 * https://hl7.org/fhir/R4/http.html#summary
 */
import type { AskedParams } from './asked.ts'
import type { InteractionName } from './perform.ts'

export const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
export type AddressMethod = (typeof METHODS)[number]

export interface Address {
  /** Fastify's spelling: `/:type/:id`. */
  readonly path: string
  readonly methods: Readonly<Partial<Record<AddressMethod, InteractionName>>>
  /** A form in the body: not for entries, whose bodies are resources. */
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

const PATTERNS = ADDRESSES.map((address) => ({ address, pattern: segmentsOf(address.path) }))

/** A parameter takes anything but what begins like a path of the server's own. */
const fits = (pattern: string, segment: string): boolean => {
  if (pattern.startsWith(':')) return !/^[_$]/.test(segment)
  return pattern.startsWith('$:') ? segment.startsWith('$') : pattern === segment
}

/** `:id` and `/Patient/1` → id and 1; `$:operation` and `$meta` → operation and meta. */
const readParam = (pattern: string, segment: string): readonly (readonly [string, string])[] => {
  const colon = pattern.indexOf(':')
  return colon === -1 ? [] : [[pattern.slice(colon + 1), segment.slice(colon)]]
}

/** The address that segments of a path name, and the parameters in it; undefined when there is none. */
export const findAddress = (
  segments: readonly string[],
): { readonly address: Address; readonly params: AskedParams } | undefined => {
  for (const { address, pattern } of PATTERNS) {
    if (pattern.length !== segments.length) continue
    if (!pattern.every((one, at) => fits(one, segments[at] as string))) continue
    const params = pattern.flatMap((one, at) => readParam(one, segments[at] as string))
    return { address, params: Object.fromEntries(params) }
  }
  return undefined
}
