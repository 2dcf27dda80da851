/** GET and POST /oauth/logout: asks, and ends the session of the browser. Tokens with online_access end with it. */
import type { Host, RequestContext } from '../../../kernel/index.ts'
import type { Database } from '../../database/service.ts'
import type { BearerCallers } from '../bearer/bearer-callers.ts'
import { readParameters } from '../endpoints/form.ts'
import { auditLogin } from '../interaction/audit-login.ts'
import { issuerOf, PATHS } from '../issuer.ts'
import type { Pages } from '../pages/page.ts'
import { csrfOf, isCsrf } from '../web/cookie-secret.ts'
import type { PageAnswer, PageRoute } from '../web/mount-pages.ts'
import { StaleForm } from '../web/page-errors.ts'
import { endedCookie, type LoginSession, type Sessions } from './sessions.ts'

export interface LogoutParts extends Pick<Host, 'run'> {
  readonly database: Database
  readonly sessions: Sessions
  readonly pages: Pages
  readonly bearer: Pick<BearerCallers, 'recheck'>
}

const actionOf = (ctx: RequestContext): string => `${new URL(issuerOf(ctx)).pathname.replace(/\/$/, '')}${PATHS.logout}`

/** What the form of the page proves to know: nobody who planted one of several cookies knows the others. */
const secretOf = (found: readonly LoginSession[]): string => found.map(({ secret }) => secret).join('.')

export const logoutRoutes = (parts: LogoutParts): readonly PageRoute[] => {
  const { database, sessions, pages, bearer } = parts
  const loggedOut = (ctx: RequestContext, wasLoggedIn: boolean): PageAnswer => ({
    html: pages.loggedOut({ wasLoggedIn }),
    csp: pages.csp(),
    cookies: [endedCookie(ctx)],
  })
  return [
    {
      method: 'GET',
      url: PATHS.logout,
      async answer({ ctx }) {
        const found = await sessions.findAll(ctx)
        if (found.length === 0) return loggedOut(ctx, false)
        const userName = found.map(({ name }) => name).join(', ')
        const csrf = csrfOf(secretOf(found))
        return { html: pages.logout({ action: actionOf(ctx), csrf, userName }), csp: pages.csp() }
      },
    },
    {
      method: 'POST',
      url: PATHS.logout,
      async answer({ ctx, text }) {
        const found = await sessions.findAll(ctx)
        if (found.length === 0) return loggedOut(ctx, false)
        const given = readParameters(text)?.all.get('csrf') ?? []
        if (given.length !== 1 || !isCsrf(secretOf(found), given[0])) throw StaleForm()
        await database.transact(async (transaction) => {
          for (const session of found) await sessions.end(transaction, session)
        })
        bearer.recheck()
        for (const { person } of found)
          await auditLogin(parts, ctx, { operation: 'logout', client: undefined, person, status: 200 })
        return loggedOut(ctx, true)
      },
    },
  ]
}
