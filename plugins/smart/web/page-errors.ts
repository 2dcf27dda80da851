/** What ends a login with an error page, because no redirect to the client is safe. */
import { defineError, type ErrorKind, type IssueCode, type ServerError } from '../../../kernel/index.ts'
import type { ErrorReason } from '../pages/page.ts'

const page = (reason: ErrorReason, status: number, code: IssueCode, template: string): ErrorKind =>
  defineError(`smart/page-${reason}`, status, code, template)

export const UnknownApp = page(
  'unknown-app',
  400,
  'not-found',
  'The client_id is missing, or no client that logs people in.',
)
export const WrongReturnAddress = page(
  'wrong-return-address',
  400,
  'invalid',
  'The redirect_uri is missing, or not one that the client has registered.',
)
export const MalformedPageRequest = page(
  'malformed',
  400,
  'invalid',
  'The request of the browser is not well-formed: %s.',
)
export const PageRequestTooLarge = defineError(
  'smart/form-too-large',
  413,
  'too-long',
  'The form of the browser is larger than 56 KB.',
)
export const RequestGone = page('expired', 400, 'not-found', 'The login took too long, or has ended already.')
export const OtherBrowser = page(
  'other-browser',
  403,
  'security',
  'The cookie of the login is missing, or belongs to another login.',
)
/** As `OtherBrowser`, of the callback of the provider. */
export const CallbackElsewhere = defineError(
  'smart/callback-elsewhere',
  400,
  'security',
  'The login at the provider was begun in another browser.',
)
export const NotYours = page('not-yours', 403, 'forbidden', 'The person may not open this patient or encounter.')
export const StaleForm = page('stale-form', 403, 'security', 'The form is not the one that is waited for.')

/** The reason that the page shows for an error. */
export const reasonOf = ({ key, status }: ServerError): ErrorReason => {
  const own = /^smart\/page-(.+)$/.exec(key)?.[1]
  if (own !== undefined) return own as ErrorReason
  if (key === CallbackElsewhere.key) return 'other-browser'
  if (key === 'limits/auth-failures') return 'too-many-attempts'
  if (status === 429) return 'too-many-requests'
  return status >= 500 ? 'internal' : 'malformed'
}
