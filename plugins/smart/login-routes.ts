/** The addresses that a person's browser opens: the authorization endpoint, the pages behind it, and the logout. */
import type { FastifyPluginCallback } from 'fastify'
import type { Clock, Host } from '../../kernel/index.ts'
import type { Database } from '../database/service.ts'
import type { Resources } from '../fhir/service.ts'
import type { ProviderLogin } from '../oidc/service.ts'
import { authorizeRoutes } from './authorize/authorize.ts'
import type { BearerCallers } from './bearer/bearer-callers.ts'
import type { Clients } from './clients/clients.ts'
import { interactionRoutes } from './interaction/interaction.ts'
import { createPages } from './pages/pages.ts'
import type { InstalledScopes } from './scopes/installed-scopes.ts'
import { logoutRoutes } from './sessions/logout.ts'
import type { Sessions } from './sessions/sessions.ts'
import { mountPages } from './web/mount-pages.ts'

export interface LoginParts extends Pick<Host, 'run'> {
  readonly database: Database
  readonly clock: Clock
  readonly resources: Resources
  readonly clients: Clients
  readonly sessions: Sessions
  readonly installedScopes: InstalledScopes
  readonly bearer: Pick<BearerCallers, 'recheck'>
  readonly provider: ProviderLogin | undefined
  readonly smart: {
    readonly patient?: string
    readonly encounter?: string
    readonly fhir_user?: string
    readonly demo_login: boolean
  }
}

export const loginRoutes = (given: LoginParts): FastifyPluginCallback => {
  const { patient, encounter, fhir_user: fhirUser, demo_login: hasDemo } = given.smart
  const pages = createPages()
  const parts = {
    ...given,
    pages,
    preset: { ...(patient !== undefined && { patient }), ...(encounter !== undefined && { encounter }) },
    skipsPicker: given.provider?.patientFromFhirUser === true,
    demo: hasDemo ? { fhirUser } : undefined,
  }
  return (app, _options, done) => {
    mountPages(app, pages, [...authorizeRoutes(parts), ...interactionRoutes(parts), ...logoutRoutes(parts)])
    done()
  }
}
