/** Errors of live queries. */
import { defineError } from '../../kernel/index.ts'

export const OriginRefused = defineError(
  'sync/origin',
  403,
  'forbidden',
  'Pages of this origin may not open live queries; the operator can list it in [cors] origins.',
)
export const EventsOnly = defineError(
  'sync/accept',
  406,
  'not-supported',
  'POST /sync answers with text/event-stream only; send Accept: text/event-stream, or open a WebSocket with GET /sync.',
)
export const MessageMalformed = defineError(
  'sync/message',
  400,
  'structure',
  'What was sent is not a message of /sync: %s; see the README of the plugin sync.',
)
export const QueryMalformed = defineError(
  'sync/query',
  400,
  'value',
  'The query "%s" is not one resource type with search parameters; write Observation?patient=Patient/1.',
)
export const QueryTwice = defineError(
  'sync/id-twice',
  400,
  'duplicate',
  'This connection has a live query "%s" already; unsubscribe it first, or use another id.',
)
export const QueryUnknown = defineError(
  'sync/id-unknown',
  404,
  'not-found',
  'This connection has no live query "%s"; subscribe it first.',
)
export const ParameterUnknown = defineError(
  'sync/parameter-unknown',
  400,
  'not-supported',
  '/sync has no parameter "%s"; send queries in messages, and a token in the header Authorization or in the message "auth".',
)
export const SetTooLarge = defineError(
  'sync/too-many-matches',
  400,
  'too-costly',
  'The query has more than %s {match|matches}, the most that a live query of its kind may have; narrow it, or use $export.',
)
export const QueryTooCostly = defineError(
  'sync/too-costly',
  400,
  'too-costly',
  'This server has %s live {query|queries} that %s, the most it takes; name a patient, a code or an identifier.',
)
export const ServerFull = defineError(
  'sync/full',
  503,
  'transient',
  'This server has the most live %s that it takes, %s; try again later.',
)
export const CallerChanged = defineError(
  'sync/other-caller',
  401,
  'login',
  'The token is of another client or user than the connection, or of none; open another connection.',
)
