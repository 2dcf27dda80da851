/** The error for a token whose scopes do not cover an interaction. */
import { defineError } from '../../../kernel/index.ts'

export const InsufficientScope = defineError(
  'smart/insufficient-scope',
  403,
  'forbidden',
  'The scopes of the token do not cover this. Ask for a token with more of them.',
)
