/**
 * The pages between the authorization endpoint and the redirect back: login, patient, encounter, consent. Each request
 * is held against the stored one: its cookie, its step, and for forms the CSRF token.
 */
import type { RequestContext } from '../../../kernel/index.ts'
import { type Parameters, readParameters } from '../endpoints/form.ts'
import { PATHS } from '../issuer.ts'
import type { Step } from '../login-tables.ts'
import { AccessDenied } from '../oauth-errors.ts'
import { isSameHash } from '../secret.ts'
import { endIfOver } from '../sessions/end-if-over.ts'
import { endedCookie, type LoginSession } from '../sessions/sessions.ts'
import { isCsrf } from '../web/cookie-secret.ts'
import type { PageAnswer, PageRequest, PageRoute } from '../web/mount-pages.ts'
import { CallbackElsewhere, MalformedPageRequest, OtherBrowser, RequestGone, StaleForm } from '../web/page-errors.ts'
import { refuseRequest } from './complete-request.ts'
import { createConsentStep } from './consent-step.ts'
import { enter } from './enter.ts'
import { createLoginStep, fromProvider } from './login-step.ts'
import { type PendingRequest, readRequest, readRequestByState } from './pending-request.ts'
import { createEncounterStep, createPatientStep } from './picker-steps.ts'
import { type InteractionParts, type PersonStepRequest, type StepPage, stepUrl } from './step-page.ts'

const parametersOf = (text: Buffer): Parameters => {
  const parameters = readParameters(text)
  if (parameters === undefined) throw MalformedPageRequest('its parameters are not in UTF-8')
  if (parameters.holdsNul) throw MalformedPageRequest('a parameter holds the character U+0000')
  return parameters
}

/** A form of another site has no CSRF token; browsers also say where a form comes from. */
const checkForm = ({ headers }: RequestContext, { secret }: PendingRequest, { all }: Parameters): void => {
  const given = all.get('csrf') ?? []
  const from = headers['sec-fetch-site']
  if (given.length !== 1 || !isCsrf(secret, given[0])) throw StaleForm()
  if (from !== undefined && from !== 'same-origin') throw StaleForm()
}

export const interactionRoutes = (parts: InteractionParts): readonly PageRoute[] => {
  const { sessions, provider } = parts
  const login = createLoginStep(parts)
  const personSteps: Readonly<Record<Exclude<Step, 'login'>, StepPage<PersonStepRequest>>> = {
    patient: createPatientStep(parts),
    encounter: createEncounterStep(parts),
    consent: createConsentStep(parts),
  }

  /** The session that the request depends on, if the browser still has it. */
  const sessionOf = async (ctx: RequestContext, { sessionHash }: PendingRequest): Promise<LoginSession | undefined> => {
    if (sessionHash === undefined) return undefined
    const session = await sessions.find(ctx)
    return session !== undefined && isSameHash(session.idHash, sessionHash) ? session : undefined
  }
  /** Goes on by the session, unless its person may do nothing any more. */
  const bySession = async (
    ctx: RequestContext,
    pending: PendingRequest,
    session: LoginSession,
    goOn: () => Promise<PageAnswer>,
  ): Promise<PageAnswer> => {
    if (!(await endIfOver(parts, ctx, session, pending.client))) return goOn()
    const refused = await refuseRequest(parts, ctx, pending, AccessDenied())
    return { ...refused, cookies: [...(refused.cookies ?? []), endedCookie(ctx)] }
  }
  const perform = async (
    action: 'show' | 'take',
    ctx: RequestContext,
    pending: PendingRequest,
    parameters: Parameters,
  ): Promise<PageAnswer> => {
    if (pending.step === 'login') return login[action]({ ctx, pending, parameters })
    const session = await sessionOf(ctx, pending)
    if (session === undefined) throw RequestGone()
    const { step } = pending
    return bySession(ctx, pending, session, () => personSteps[step][action]({ ctx, pending, parameters, session }))
  }

  /** Goes to the step that is waited for; behind the login at once, where the browser has a session. */
  const toStep = async ({ ctx, path: { id = '' } }: PageRequest): Promise<PageAnswer> => {
    const pending = await readRequest(parts, ctx, id)
    const session = pending.step === 'login' ? await sessionOf(ctx, pending) : undefined
    return session === undefined
      ? { redirect: stepUrl(ctx, pending, pending.step) }
      : bySession(ctx, pending, session, () => enter(parts, ctx, pending, session, {}))
  }
  const show = async ({ ctx, path: { id = '', step }, text }: PageRequest): Promise<PageAnswer> => {
    const pending = await readRequest(parts, ctx, id)
    // Back and forward in the browser lead to the step that is waited for.
    return pending.step === step
      ? perform('show', ctx, pending, parametersOf(text))
      : { redirect: stepUrl(ctx, pending, pending.step) }
  }
  const take = async ({ ctx, path: { id = '', step }, text }: PageRequest): Promise<PageAnswer> => {
    const pending = await readRequest(parts, ctx, id)
    const parameters = parametersOf(text)
    checkForm(ctx, pending, parameters)
    if (pending.step !== step) throw StaleForm()
    return perform('take', ctx, pending, parameters)
  }
  const callback = async ({ ctx, text }: PageRequest): Promise<PageAnswer> => {
    const parameters = parametersOf(text)
    const state = parameters.form.get('state')
    if (provider === undefined || state === undefined || parameters.isRepeated)
      throw MalformedPageRequest('it is no answer of the provider')
    const pending = await readRequestByState(parts, ctx, state).catch((error: unknown) => {
      throw (error as { key?: string }).key === OtherBrowser.key ? CallbackElsewhere() : error
    })
    return fromProvider(parts, provider, { ctx, pending, parameters })
  }
  return [
    { method: 'GET', url: `${PATHS.interaction}/:id`, answer: toStep },
    { method: 'GET', url: `${PATHS.interaction}/:id/:step`, answer: show },
    { method: 'POST', url: `${PATHS.interaction}/:id/:step`, answer: take },
    ...(provider === undefined ? [] : [{ method: 'GET' as const, url: PATHS.callback, answer: callback }]),
  ]
}
