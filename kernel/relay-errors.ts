/** Errors of taps that answer, or mark, a request that two servers work on. */
import { defineError } from './define-error.ts'

export const BodyTwice = defineError('kernel/body-twice', 500, 'exception', 'The body of a request is taken once.')
export const BodyLate = defineError(
  'kernel/body-late',
  500,
  'exception',
  'The body of a request is taken only while relay is asked.',
)
export const RelayUnanswered = defineError(
  'kernel/relay-unanswered',
  500,
  'exception',
  'The plugin "%s" took the body of a request in relay and gave no Reply; nobody else can answer it.',
)
export const RelayMarkLate = defineError(
  'kernel/relay-mark-late',
  500,
  'exception',
  'A request is marked as received in beforeRequest, and as sent while relay is asked; at other times others have judged by it.',
)
