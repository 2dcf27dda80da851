/**
 * The errors of OAuth: RFC 6749, section 5.2, and RFC 7591, section 3.2.2. Descriptions are fixed ASCII sentences
 * without quotation marks. They never quote the request, which may hold a secret.
 */
import { defineError, type ErrorKind, type IssueCode, type ServerError } from '../../kernel/index.ts'

/** Codes of errors whose key does not have them. */
const CODES: ReadonlyMap<string, string> = new Map([
  ['smart/token-in-url', 'invalid_request'],
  ['smart/too-many-scopes', 'invalid_scope'],
])

const oauth = (code: string, status: number, issue: IssueCode, template: string): ErrorKind =>
  defineError(`smart/oauth-${code.replaceAll('_', '-')}`, status, issue, template)

export const InvalidRequest = oauth('invalid_request', 400, 'invalid', 'The request is not well-formed: %s.')
export const RequestTooLarge = defineError('smart/request-too-large', 413, 'too-long', 'The body is larger than 56 KB.')
export const InvalidClient = oauth('invalid_client', 401, 'login', 'The client could not be authenticated.')
export const InvalidGrant = oauth(
  'invalid_grant',
  400,
  'invalid',
  'The code or refresh token is not valid: unknown, used, expired, revoked, or of another client or request.',
)
export const InvalidScope = oauth(
  'invalid_scope',
  400,
  'invalid',
  'None of the scopes that were asked for can be granted to this client.',
)
export const TooManyScopes = defineError(
  'smart/too-many-scopes',
  400,
  'too-costly',
  'The request asks for more than %s scopes. Ask for fewer, or for scopes that cover several types.',
)
export const UnauthorizedClient = oauth(
  'unauthorized_client',
  400,
  'forbidden',
  'This client is not registered for what it asks for.',
)
export const UnsupportedGrantType = oauth(
  'unsupported_grant_type',
  400,
  'not-supported',
  'This server does not support the grant_type.',
)
export const UnsupportedResponseType = oauth(
  'unsupported_response_type',
  400,
  'not-supported',
  'This server supports the response_type code only.',
)
export const RequestNotSupported = oauth(
  'request_not_supported',
  400,
  'not-supported',
  'This server does not take request objects.',
)
export const RequestUriNotSupported = oauth(
  'request_uri_not_supported',
  400,
  'not-supported',
  'This server does not take request objects.',
)
export const RegistrationNotSupported = oauth(
  'registration_not_supported',
  400,
  'not-supported',
  'This server does not take the parameter registration.',
)
export const LoginRequired = oauth('login_required', 400, 'login', 'The person has to log in.')
export const ConsentRequired = oauth('consent_required', 400, 'login', 'The person has to consent.')
export const AccessDenied = oauth(
  'access_denied',
  403,
  'forbidden',
  'The person or the server has refused the request.',
)
export const TemporarilyUnavailable = oauth(
  'temporarily_unavailable',
  503,
  'transient',
  'The login is not available at the moment.',
)
export const InvalidRedirectUri = oauth('invalid_redirect_uri', 400, 'invalid', 'A redirect URI is refused: %s.')
export const InvalidClientMetadata = oauth(
  'invalid_client_metadata',
  400,
  'invalid',
  'The metadata of the client is refused: %s.',
)
export const InvalidToken = oauth(
  'invalid_token',
  401,
  'login',
  'Registering a client asks for the initial access token in the header Authorization: Bearer.',
)

/** The code for the member `error`. */
export const oauthCodeOf = ({ key, status }: ServerError): string => {
  const own = CODES.get(key) ?? /^smart\/oauth-(.+)$/.exec(key)?.[1]?.replaceAll('-', '_')
  if (own !== undefined) return own
  // The token endpoint has no code for 429 and 503, so they get the one that the authorization endpoint has for them.
  if (status >= 500 && status !== 503) return 'server_error'
  return status === 429 || status === 503 ? 'temporarily_unavailable' : 'invalid_request'
}
