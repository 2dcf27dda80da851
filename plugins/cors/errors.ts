/** The error that stops the start when an entry of `[cors] origins` is not an origin. */
import { defineError } from '../../kernel/index.ts'

export const OriginMalformed = defineError(
  'cors/origin-malformed',
  500,
  'exception',
  '[cors] origins: "%s" is not the origin of a page, which is a scheme, a host in lower case and a port that is not the usual one, such as https://app.example.org or http://localhost:3000.',
)
