/** Errors of sessions, besides those that the interactions throw. */
import { defineError } from '../../../kernel/index.ts'

export const SessionWho = defineError(
  'fhir/session-who',
  500,
  'exception',
  'A plugin asks for data as somebody who is neither a request nor stored nor internal, so nothing is shown.',
)
export const SessionParameter = defineError(
  'fhir/session-parameter',
  400,
  'not-supported',
  'The parameter "%s" has no meaning here: a session gives resources as they are stored, and streams and matchers take only parameters that select.',
)
export const SessionKey = defineError(
  'fhir/session-key',
  400,
  'value',
  'The key "%s" is none that a stream or a history of this server has given.',
)
export const SessionTwice = defineError(
  'fhir/session-twice',
  400,
  'invalid',
  'Two changes of one transaction are of %s; a resource can be changed once.',
)
