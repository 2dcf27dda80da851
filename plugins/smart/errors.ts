/**
 * Errors for callers whose token is missing or invalid, and for operators whose settings or keys do not fit together.
 */
import { defineError } from '../../kernel/index.ts'

export { InsufficientScope } from './scopes/errors.ts'

export const TokenMissing = defineError(
  'smart/token-missing',
  401,
  'login',
  'This address asks for an access token in the header Authorization: Bearer.',
)
export const TokenUnknown = defineError('smart/token-unknown', 401, 'unknown', 'The access token is not known here.')
export const TokenExpired = defineError('smart/token-expired', 401, 'expired', 'The access token has expired.')
export const TokenInUrl = defineError(
  'smart/token-in-url',
  400,
  'security',
  'An access token is sent in the header Authorization, never in the URL, which is kept in logs and histories.',
)

export const PublicUrlMissing = defineError(
  'smart/public-url-missing',
  500,
  'exception',
  '[smart] enabled with [server] bind = "%s", which others reach, needs the URL they reach it at: set public_url under [server], SERVER_PUBLIC_URL or --public-url.',
)
export const DemoLoginRemote = defineError(
  'smart/demo-login-remote',
  500,
  'exception',
  '[smart] demo_login lets everybody in, and [server] bind = "%s" is an address that others reach: bind a loopback address, or set SERVER_ALLOW_REMOTE_DEMO_LOGIN=true.',
)
export const IssuerUnknown = defineError(
  'smart/issuer-unknown',
  500,
  'exception',
  'The server does not know its own URL, which names the issuer of tokens; its operator sets [server] public_url.',
)
export const KeyNeedsPassphrase = defineError(
  'smart/key-needs-passphrase',
  500,
  'exception',
  'The signing key %s in the database is encrypted; set SERVER_SIGNING_KEY_PASSPHRASE to the passphrase it was encrypted with.',
)
export const KeyUnreadable = defineError(
  'smart/key-unreadable',
  500,
  'exception',
  'The signing key %s in the database cannot be read: SERVER_SIGNING_KEY_PASSPHRASE is not the passphrase it was encrypted with, or the key was changed.',
)
export const KeyTooNew = defineError(
  'smart/key-too-new',
  409,
  'conflict',
  'Clients may not know the next key yet; rotate again in %s {second|seconds}, or at once with --force.',
)
export const KeysMissing = defineError(
  'smart/keys-missing',
  409,
  'conflict',
  'The database holds no signing keys yet; the first start of a server with [smart] enabled makes them.',
)
export const NoSuchClient = defineError('smart/no-such-client', 404, 'not-found', 'There is no client %s.')
export const ClientTaken = defineError('smart/client-taken', 409, 'conflict', 'There is a client %s already.')
export const SecretNeedsTerminal = defineError(
  'smart/secret-needs-terminal',
  409,
  'conflict',
  'The secret of a client is shown on a terminal only, and standard error is none; or give --public, --jwks or --jwks-uri.',
)
