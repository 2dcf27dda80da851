/** A step of a login: a page that is shown, and what its form does. */
import type { Host, RequestContext } from '../../../kernel/index.ts'
import type { Database } from '../../database/service.ts'
import type { ProviderLogin } from '../../oidc/service.ts'
import type { BearerCallers } from '../bearer/bearer-callers.ts'
import type { Clients } from '../clients/clients.ts'
import type { Parameters } from '../endpoints/form.ts'
import { issuerOf, PATHS } from '../issuer.ts'
import type { Step } from '../login-tables.ts'
import type { Pages } from '../pages/page.ts'
import type { LoginSession, Sessions } from '../sessions/sessions.ts'
import { csrfOf } from '../web/cookie-secret.ts'
import type { PageAnswer } from '../web/mount-pages.ts'
import type { ContextParts } from './next-step.ts'
import type { PendingRequest } from './pending-request.ts'

export interface InteractionParts extends ContextParts, Pick<Host, 'run'> {
  readonly database: Database
  readonly clients: Clients
  readonly sessions: Sessions
  readonly bearer: Pick<BearerCallers, 'recheck'>
  readonly pages: Pages
  readonly provider: ProviderLogin | undefined
  /** Spec: [smart] demo_login, fhir_user. Undefined when it is off. */
  readonly demo: { readonly fhirUser: string | undefined } | undefined
}

/** A request of the browser for a pending request. */
export interface StepRequest {
  readonly ctx: RequestContext
  readonly pending: PendingRequest
  /** Query or form. */
  readonly parameters: Parameters
}

/** Of the steps behind the login. */
export interface PersonStepRequest extends StepRequest {
  readonly session: LoginSession
}

export interface StepPage<R extends StepRequest> {
  show(request: R): Promise<PageAnswer>
  take(request: R): Promise<PageAnswer>
}

const pathOf = (ctx: RequestContext): string => new URL(issuerOf(ctx)).pathname.replace(/\/$/, '')

/** The members of a form: its action, a path, and its CSRF token. */
export const formOf = (
  ctx: RequestContext,
  { id, secret, step }: PendingRequest,
): { readonly action: string; readonly csrf: string } => ({
  action: `${pathOf(ctx)}${PATHS.interaction}/${id}/${step}`,
  csrf: csrfOf(secret),
})

/** URL of a step, or of whichever step is waited for. */
export const stepUrl = (ctx: RequestContext, { id }: Pick<PendingRequest, 'id'>, step?: Step): string =>
  `${issuerOf(ctx)}${PATHS.interaction}/${id}${step === undefined ? '' : `/${step}`}`

/** What pages call a client. */
export const clientNameOf = async (clients: Clients, id: string): Promise<string> =>
  (await clients.find(id))?.metadata.client_name ?? id
