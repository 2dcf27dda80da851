/** Errors of a login at the OpenID provider, and of missing or conflicting settings in [smart.oidc]. */
import { defineError } from '../../kernel/index.ts'

export const LoginRefused = defineError(
  'oidc/login-refused',
  403,
  'forbidden',
  'The login at the OpenID provider was refused; the log of the server says why.',
)
export const ProviderUnavailable = defineError(
  'oidc/provider-unavailable',
  503,
  'transient',
  'The OpenID provider cannot be used now; the log of the server says why. Try again later.',
)

export const ClientIdMissing = defineError(
  'oidc/client-id-missing',
  500,
  'exception',
  '[smart.oidc] issuer is set, but not the id of this server at the provider: set client_id under [smart.oidc], SERVER_OIDC_CLIENT_ID or --oidc-client-id.',
)
export const IssuerInsecure = defineError(
  'oidc/issuer-insecure',
  500,
  'exception',
  '[smart.oidc] issuer = "%s" is not an https URL; http is allowed for a loopback address only.',
)
export const ScopeMissing = defineError(
  'oidc/scope-missing',
  500,
  'exception',
  '[smart.oidc] scopes lacks "openid", without which the provider sends no ID token.',
)
export const LookupIncomplete = defineError(
  'oidc/lookup-incomplete',
  500,
  'exception',
  '[smart.oidc.fhir_user_lookup] needs resource_type, claim and system; %s is not set.',
)
