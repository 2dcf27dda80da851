/** The authorization server: access tokens and what they allow. SMART App Launch 2.2. Spec: [smart], Authentication. */
import { definePlugin, Type } from '../../kernel/index.ts'
import { WebApps } from '../cors/service.ts'
import { ChangeFeed, Database } from '../database/service.ts'
import { Fhir, Resources } from '../fhir/service.ts'
import { Limits } from '../limits/service.ts'
import { Model } from '../model/service.ts'
import { ProviderLogin } from '../oidc/service.ts'
import { RegisteredClients } from '../subscriptions/service.ts'
import { createAuthorizationServer } from './authorization-server.ts'
import { recheckOnPublication } from './bearer/recheck-on-publication.ts'
import { refuseTokenInUrl } from './bearer/refuse-token-in-url.ts'
import { requireToken } from './bearer/require-token.ts'
import { checkBind } from './check-bind.ts'
import { smartSection } from './config.ts'
import { securityStatement } from './endpoints/security-statement.ts'
import { errorTable } from './error-table.ts'
import { authorizeByScopes } from './scopes/authorize-by-scopes.ts'
import { createInstalledScopes } from './scopes/installed-scopes.ts'
import { smartMigrations } from './tables.ts'

export default definePlugin({
  name: 'smart',
  description: 'Asks callers for an access token, and issues them: SMART App Launch',
  // The kernel declares [server]; this plugin only reads it.
  config: { smart: smartSection, server: Type.Object({}) },
  needs: { database: Database, feed: ChangeFeed, fhir: Fhir, model: Model, resources: Resources },
  uses: [Limits, ProviderLogin],
  provides: [WebApps, RegisteredClients],
  migrations: smartMigrations,
  errors: errorTable,
  commands: { smart: async () => (await import('./commands/smart.ts')).default },
  enabled: ({ smart }) => smart.enabled,
  setup(host) {
    const { config, needs, hooks, optional, routes, run, clock, random, memory, log } = host
    const { database, feed, fhir, model, resources } = needs
    checkBind(config.server as { bind: string; public_url?: string }, config.smart)
    const { bearer, apps, registered, discovery, endpoints, login, lifecycle } = createAuthorizationServer({
      ...{ database, resources, run, clock, random, memory, log, smart: config.smart },
      request: host.request,
      tellOperator: host.tellOperator,
      failures: optional(Limits)?.authFailures,
      provider: optional(ProviderLogin),
      installedScopes: createInstalledScopes({ model, resources: () => resources }),
    })
    host.provide(WebApps, apps)
    host.provide(RegisteredClients, registered)
    recheckOnPublication(feed, bearer)
    fhir.describe({ security: securityStatement(login !== undefined) })
    hooks.beforeRequest.tap('no token in the URL', refuseTokenInUrl)
    hooks.authenticate.tapPromise('look the token up', (request) => bearer.identify(request))
    hooks.admit.tap('a token is required', requireToken)
    authorizeByScopes(hooks, model)
    routes(discovery)
    routes(endpoints)
    if (login !== undefined) routes(login)
    return lifecycle
  },
})
