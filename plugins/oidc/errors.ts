/** Errors of a login at the provider, and of settings that do not fit together. The reasons are told to the log only. */
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
