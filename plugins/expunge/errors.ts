/** Errors of $expunge. */
import { defineError } from '../../kernel/index.ts'

export const ExpungeForbidden = defineError(
  'expunge/forbidden',
  403,
  'forbidden',
  '$expunge is for clients that act for themselves with all rights on all types: with the scope system/*.cruds.',
)
export const ExpungeOff = defineError(
  'expunge/off',
  403,
  'forbidden',
  'This server erases nothing for callers without an access token. Set anonymous = true in [expunge] to allow it.',
)
export const ExpungeInBundle = defineError(
  'expunge/in-bundle',
  400,
  'not-supported',
  '$expunge cannot be an entry of a Bundle; send it as a request of its own.',
)
export const ExpungeInput = defineError('expunge/input', 400, 'value', '%s')
export const ExpungeShared = defineError(
  'expunge/shared',
  409,
  'conflict',
  'Nothing was erased, because %s {resource|resources} of the record are about other patients too: %s. Change or delete them first.',
)
export const ExpungeUnknown = defineError('expunge/unknown', 404, 'not-found', 'There is no such expunge of yours.')
export const ExpungeFailed = defineError('expunge/failed', 500, 'incomplete', 'The expunge has failed: %s')
export const ExpungePolled = defineError(
  'expunge/polled-early',
  429,
  'throttled',
  'The expunge was asked for too soon; ask again in %s {second|seconds}.',
)
export const CompactNotDone = defineError('expunge/compact-not-done', 409, 'conflict', '%s')
