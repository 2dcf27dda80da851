/** Refusals of requests with large bodies, which a worker thread parses instead of the main thread. */
import { defineError } from '../../../kernel/index.ts'

export const BodyTooCostly = defineError(
  'fhir/body-too-costly',
  413,
  'too-costly',
  'The body takes more memory than one request may; nothing was stored. Send less in one request.',
)
export const RequestLeft = defineError(
  'fhir/request-left',
  503,
  'incomplete',
  'The client left, or the server stopped, before the request was done; nothing was stored.',
)
