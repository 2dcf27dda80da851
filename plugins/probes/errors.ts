/** What a caller hears who wants to know more than a probe does. */
import { defineError } from '../../kernel/index.ts'

export const TokenRequired = defineError(
  'probes/token-required',
  401,
  'login',
  'The counters of /healthz?verbose=1 are shown to callers with an access token. Leave verbose out, or send Authorization: Bearer.',
)
