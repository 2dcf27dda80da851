/** The step `login`: at the OpenID provider, or as a demo without any check. */
import { isServerError, type ServerError } from '../../../kernel/index.ts'
import type { ProviderLogin } from '../../oidc/service.ts'
import { issuerOf, PATHS } from '../issuer.ts'
import { startProviderLogin, takeProviderState } from '../login-tables.ts'
import { AccessDenied, TemporarilyUnavailable } from '../oauth-errors.ts'
import { subjectOf } from '../people/person.ts'
import { hashOf, newSecret } from '../secret.ts'
import { openText, sealText } from '../web/cookie-secret.ts'
import type { PageAnswer } from '../web/mount-pages.ts'
import { MalformedPageRequest, RequestGone, StaleForm } from '../web/page-errors.ts'
import { auditLogin } from './audit-login.ts'
import { completeLogin } from './complete-login.ts'
import { refuseRequest } from './complete-request.ts'
import { clientNameOf, formOf, type InteractionParts, type StepPage, type StepRequest } from './step-page.ts'

const MAX_NAME = 200 // characters
const DEMO_ISSUER = 'demo'

const callbackOf = (ctx: StepRequest['ctx']): string => `${issuerOf(ctx)}${PATHS.callback}`

/** What a failed login at the provider answers to the client. */
const outcomeOf = (error: unknown): ServerError => {
  if (!isServerError(error)) throw error
  return error.status >= 500 ? TemporarilyUnavailable() : AccessDenied()
}

const refuse = async (
  parts: InteractionParts,
  { ctx, pending }: Pick<StepRequest, 'ctx' | 'pending'>,
  error: unknown,
): Promise<PageAnswer> => {
  const outcome = outcomeOf(error)
  ctx.log.info({ err: error }, 'a login at the provider failed')
  await auditLogin(parts, ctx, { operation: 'login', client: pending.client, person: {}, status: outcome.status })
  return refuseRequest(parts, ctx, pending, outcome)
}

/** Goes to the provider. What its answer needs is stored for this browser. */
const toProvider = async (
  parts: InteractionParts,
  provider: ProviderLogin,
  { ctx, pending }: StepRequest,
): Promise<PageAnswer> => {
  try {
    const forceLogin = pending.params.mustLogIn
    const started = await provider.start({ callback: callbackOf(ctx), forceLogin, request: newSecret() })
    const state = new URL(started.redirect).searchParams.get('state')
    if (state === null) throw new Error('the redirect to the provider has no state')
    const row = await parts.database.transact((transaction) =>
      transaction.get(startProviderLogin, [
        ...[hashOf(state), sealText(pending.secret, started.memory), pending.idHash],
      ]),
    )
    if (row === undefined) throw RequestGone()
    return { redirect: started.redirect }
  } catch (error) {
    if (isServerError(error) && error.key === RequestGone.key) throw error
    return refuse(parts, { ctx, pending }, error)
  }
}

/** The callback of the provider. `state` is used up, whatever comes of it. */
export const fromProvider = async (
  parts: InteractionParts,
  provider: ProviderLogin,
  { ctx, pending, parameters }: StepRequest,
): Promise<PageAnswer> => {
  const state = hashOf(parameters.form.get('state') ?? '')
  const taken = await parts.database.transact((transaction) =>
    transaction.get(takeProviderState, [pending.idHash, state]),
  )
  if (taken === undefined || pending.sealedMemory === undefined || pending.step !== 'login') throw RequestGone()
  const memory = openText(pending.secret, pending.sealedMemory)
  try {
    const url = `${issuerOf(ctx)}${ctx.url}`
    const { issuer, subject, name, fhirUser, authTime } = await provider.finish({
      ...{ url, callback: callbackOf(ctx), memory },
    })
    const person = {
      ...{ subject: subjectOf(issuer, subject), isDemo: false, authTime },
      ...(fhirUser !== undefined && { fhirUser }),
    }
    return await completeLogin(parts, ctx, pending, person, name ?? subject)
  } catch (error) {
    if (isServerError(error) && error.key === RequestGone.key) throw error
    return refuse(parts, { ctx, pending }, error)
  }
}

export const createLoginStep = (parts: InteractionParts): StepPage<StepRequest> => {
  const { pages, provider, demo, clock, clients } = parts
  const page = async ({ ctx, pending }: StepRequest, isNameMissing: boolean): Promise<PageAnswer> => ({
    html: pages.login({
      ...formOf(ctx, pending),
      clientName: await clientNameOf(clients, pending.client),
      provider: provider?.label,
      demo: demo !== undefined,
      isNameMissing,
    }),
    csp: pages.csp(pending.params.redirectUri, provider?.issuer),
    status: isNameMissing ? 400 : 200,
  })
  return {
    show: (request) => page(request, false),
    async take(request) {
      const { ctx, pending, parameters } = request
      if (parameters.isRepeated) throw MalformedPageRequest('a parameter is given twice')
      const { form, all } = parameters
      if (form.has('provider') && provider !== undefined) return toProvider(parts, provider, request)
      if (!all.has('username') || demo === undefined) throw StaleForm()
      const name = form.get('username')?.trim().slice(0, MAX_NAME) ?? ''
      if (name === '') return page(request, true)
      const person = {
        ...{ subject: subjectOf(DEMO_ISSUER, name), isDemo: true, authTime: Math.floor(clock.now() / 1000) },
        ...(demo.fhirUser !== undefined && { fhirUser: demo.fhirUser }),
      }
      return completeLogin(parts, ctx, pending, person, name)
    },
  }
}
