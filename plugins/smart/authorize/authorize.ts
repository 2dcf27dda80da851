/**
 * GET and POST /oauth/authorize: begins the login of a person for a client. RFC 6749, section 4.1.1; SMART App Launch.
 */
import { isServerError, type RequestContext } from '../../../kernel/index.ts'
import type { Client } from '../clients/client.ts'
import type { Clients } from '../clients/clients.ts'
import { type Parameters, readParameters } from '../endpoints/form.ts'
import type { LaunchContext } from '../grants/launch-context.ts'
import { createPendingBound } from '../interaction/pending-bound.ts'
import { beginRequest, type RequestParams } from '../interaction/pending-request.ts'
import { issuerOf, PATHS } from '../issuer.ts'
import { useLaunch } from '../launches/launches.ts'
import { AccessDenied, ConsentRequired, InvalidRequest, LoginRequired } from '../oauth-errors.ts'
import type { InstalledScopes } from '../scopes/installed-scopes.ts'
import { type EndIfOverParts, endIfOver } from '../sessions/end-if-over.ts'
import { endedCookie, type LoginSession } from '../sessions/sessions.ts'
import type { PageAnswer, PageRequest, PageRoute } from '../web/mount-pages.ts'
import { MalformedPageRequest, UnknownApp, WrongReturnAddress } from '../web/page-errors.ts'
import { type CheckedAuthorization, checkAuthorization, isReturnable } from './check-authorization.ts'
import { isRegisteredUri } from './is-registered-uri.ts'
import { type ReturnAddress, redirectWithError } from './redirect-back.ts'

export interface AuthorizeParts extends EndIfOverParts {
  readonly clients: Clients
  readonly installedScopes: InstalledScopes
}

/** The client and where to return to. Throws for an error page: no redirect is safe before this. */
const readClient = async (
  { all, form }: Parameters,
  clients: Clients,
): Promise<{ client: Client; redirectUri: string }> => {
  for (const name of ['client_id', 'redirect_uri'])
    if ((all.get(name)?.length ?? 0) > 1) throw MalformedPageRequest(`${name} is given twice`)
  const client = await clients.find(form.get('client_id') ?? '')
  if (client === undefined || !client.metadata.grant_types.includes('authorization_code')) throw UnknownApp()
  const redirectUri = form.get('redirect_uri')
  if (redirectUri === undefined || !isRegisteredUri(client.metadata, redirectUri)) throw WrongReturnAddress()
  return { client, redirectUri }
}

/** The `state` that an error may return: a single one. */
const returnableState = ({ all }: Parameters): string | undefined => {
  const [state, ...more] = all.get('state') ?? []
  return state === undefined || more.length > 0 || !isReturnable(state) ? undefined : state
}

const mustAskAgain = ({ prompts }: CheckedAuthorization): boolean =>
  prompts.has('login') || prompts.has('select_account')

const isFresh = (session: LoginSession, checked: CheckedAuthorization, now: number): boolean => {
  const { maxAge } = checked
  return (
    !mustAskAgain(checked) && (maxAge === undefined || (maxAge > 0 && session.person.authTime + maxAge >= now / 1000))
  )
}

const paramsOf = (
  redirectUri: string,
  { launch: _, prompts: __, ...checked }: CheckedAuthorization,
  mustLogIn: boolean,
  launch: LaunchContext | undefined,
): RequestParams => ({ ...checked, redirectUri, mustLogIn, ...(launch !== undefined && { launch }) })

export const authorizeRoutes = (parts: AuthorizeParts): readonly PageRoute[] => {
  const { database, clock, clients, sessions, installedScopes } = parts
  const bound = createPendingBound()

  const begin = async (
    ctx: RequestContext,
    { client, back }: { client: Client; back: ReturnAddress },
    checked: CheckedAuthorization,
  ): Promise<PageAnswer> => {
    const now = clock.now()
    const session = await sessions.find(ctx)
    const known = session !== undefined && isFresh(session, checked, now) ? session : undefined
    if (known !== undefined && (await endIfOver(parts, ctx, known, client.id)))
      return { redirect: redirectWithError(ctx, back, AccessDenied()), cookies: [endedCookie(ctx)] }
    if (checked.prompts.has('none')) throw known === undefined ? LoginRequired() : ConsentRequired()
    const isDue = bound.isDue()
    const begun = await database.transact(async (transaction) => {
      const { launch: value } = checked
      const launch =
        value === undefined ? undefined : await useLaunch(transaction, { launch: value, client: client.id, clock })
      if (value !== undefined && launch === undefined)
        throw InvalidRequest('launch is unknown, expired, used, or of another client')
      const mustLogIn = known === undefined && (mustAskAgain(checked) || checked.maxAge !== undefined)
      const params = paramsOf(back.redirectUri, checked, mustLogIn, launch)
      const started = { client: client.id, params, step: 'login' as const, sessionHash: known?.idHash, chosen: {} }
      const stored = await beginRequest(transaction, ctx, started, now)
      if (isDue) await bound.keep(transaction)
      return stored
    })
    return { redirect: `${issuerOf(ctx)}${PATHS.interaction}/${begun.id}`, cookies: begun.cookies }
  }

  const answer = async ({ ctx, text }: PageRequest): Promise<PageAnswer> => {
    const parameters = readParameters(text)
    if (parameters === undefined) throw MalformedPageRequest('its parameters are not in UTF-8')
    const { client, redirectUri } = await readClient(parameters, clients)
    const back: ReturnAddress = { redirectUri, state: returnableState(parameters) }
    try {
      if (parameters.isRepeated) throw InvalidRequest('a parameter is given twice')
      if (parameters.holdsNul) throw InvalidRequest('a parameter holds the character U+0000')
      const checked = await checkAuthorization(ctx, client, parameters.form, installedScopes)
      return await begin(ctx, { client, back }, checked)
    } catch (error) {
      if (!isServerError(error) || (error.status >= 500 && error.status !== 503)) throw error
      return { redirect: redirectWithError(ctx, back, error) }
    }
  }
  return [
    { method: 'GET', url: PATHS.authorize, answer },
    { method: 'POST', url: PATHS.authorize, answer },
  ]
}
