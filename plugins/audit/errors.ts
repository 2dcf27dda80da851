/** Errors of the audit trail and of its endpoints. */
import { defineError } from '../../kernel/index.ts'

export const TrailUnavailable = defineError(
  'audit/unavailable',
  503,
  'transient',
  'The change was not made, because it could not be recorded in the audit trail. Try again.',
)
export const TrailBusy = defineError(
  'audit/busy',
  503,
  'transient',
  'The audit trail cannot be written at the moment, and nothing is shown that is not recorded. Try again.',
)
export const KeyMismatch = defineError(
  'audit/key-mismatch',
  500,
  'exception',
  'The audit trail is chained with another key than SERVER_AUDIT_KEY. Set that one; or, to change keys, name it in SERVER_AUDIT_PREVIOUS_KEYS.',
)
export const HeadMissing = defineError(
  'audit/head-missing',
  500,
  'exception',
  'The audit trail has events and no head: rows of audit_head were deleted. Restore the database from a backup.',
)
export const AuditParameterUnknown = defineError(
  'audit/parameter-unknown',
  400,
  'not-supported',
  'The parameter "%s" is not known here; known are: %s.',
)
export const EventUnknown = defineError(
  'audit/event-unknown',
  404,
  'not-found',
  'There is no event %s in the trail; it may have been pruned.',
)
export const AuditParameterValue = defineError('audit/parameter-value', 400, 'value', 'The parameter %s takes %s.')
export const AuditSearchTooCostly = defineError(
  'audit/search-too-costly',
  400,
  'too-costly',
  'The search found no full page within %s seconds. Narrow it with date, patient, entity or agent, or ask for application/fhir+ndjson, which is sent as it is found.',
)
export const FormatRefused = defineError(
  'audit/format',
  406,
  'not-supported',
  'The trail is sent as application/fhir+json or application/fhir+ndjson.',
)
export const VerifyCancelled = defineError(
  'audit/verify-cancelled',
  503,
  'timeout',
  'The verification ended before it was done.',
)
export const VerifyArguments = defineError(
  'audit/verify-arguments',
  500,
  'exception',
  'server audit takes verify; --seq and --mac of a checkpoint are given together.',
)
