/** The security schemes, from what /metadata says of access, and the paths that need no token. */
import type { ListedRoute } from '../../kernel/index.ts'
import type { CapabilityStatement } from './capability-statement.ts'
import type { Json } from './components.ts'

const SCOPES = {
  'patient/*.cruds': 'The record of the patient of the launch.',
  'user/*.cruds': 'What the user may see and change.',
  'system/*.cruds': 'For backend services.',
  'system/AuditEvent.rs': 'The audit trail, usage and requests.',
}

const DESCRIPTIONS: readonly string[] = ['/metadata', '/openapi.json']

/** Clients use these before they have a token, and everybody may read what describes the server. */
export const isOpen = ({ path, bare }: ListedRoute): boolean =>
  bare || DESCRIPTIONS.includes(path) || path.startsWith('/oauth/') || path.startsWith('/.well-known/')

/** Nothing where callers need no token. */
export const securityOf = ({
  rest,
}: CapabilityStatement): { readonly schemes: Json; readonly security: readonly Json[] } => {
  const declared = rest[0]?.security
  if (declared === undefined) return { schemes: {}, security: [] }
  const uris = new Map(
    (declared.extension ?? []).flatMap(({ extension = [] }) => extension).map(({ url, valueUri }) => [url, valueUri]),
  )
  const [authorizationUrl, tokenUrl] = [uris.get('authorize'), uris.get('token')]
  const schemes: Json = { bearer: { type: 'http', scheme: 'bearer' } }
  if (tokenUrl !== undefined)
    schemes.smart = {
      type: 'oauth2',
      description: 'SMART App Launch 2.2; the scopes here are examples, others name types, rights and searches.',
      flows: {
        ...(authorizationUrl !== undefined && {
          authorizationCode: { authorizationUrl, tokenUrl, refreshUrl: tokenUrl, scopes: SCOPES },
        }),
        clientCredentials: { tokenUrl, scopes: SCOPES },
      },
    }
  return { schemes, security: Object.keys(schemes).map((name) => ({ [name]: [] })) }
}
