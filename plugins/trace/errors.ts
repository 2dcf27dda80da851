/** Errors of requests that ask for a trace. */
import { defineError } from '../../kernel/index.ts'

export const TraceRestricted = defineError(
  'trace/restricted',
  403,
  'forbidden',
  'Traces are for callers who may read and search everything, and the times in them tell of what is stored. Leave X-Trace out.',
)
export const TraceHeader = defineError(
  'trace/header',
  400,
  'value',
  'The header X-Trace takes 1; leave it out for no trace.',
)
export const TraceUnknown = defineError(
  'trace/unknown',
  404,
  'not-found',
  'No such trace is in the memory of this server. It keeps the last %s, and the server that answered the request has it.',
)
