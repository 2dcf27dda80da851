/** What callers hear whose token is missing or wrong, and operators whose settings do not go together. */
import { defineError } from '../../kernel/index.ts'

export const TokenMissing = defineError(
  'smart/token-missing',
  401,
  'login',
  'This address asks for an access token in the header Authorization: Bearer.',
)
export const PublicUrlMissing = defineError(
  'smart/public-url-missing',
  500,
  'exception',
  '[smart] enabled with [server] bind = "%s", which others reach, needs the URL they reach it at: set public_url under [server], SERVER_PUBLIC_URL or --public-url.',
)
