/** What a caller hears whose scopes are too small. */
import { defineError } from '../../../kernel/index.ts'

export const InsufficientScope = defineError(
  'smart/insufficient-scope',
  403,
  'forbidden',
  'The scopes of the token do not cover this. Ask for a token with more of them.',
)
