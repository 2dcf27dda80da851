/** What a caller hears whose scopes are too small. */
import { defineError } from '../../../kernel/index.ts'

/** RFC 6750, section 3.1 */
export const CHALLENGE = 'Bearer error="insufficient_scope"'

export const InsufficientScope = defineError(
  'smart/insufficient-scope',
  403,
  'forbidden',
  'The scopes of the token do not cover this. Ask for a token with more of them.',
)
