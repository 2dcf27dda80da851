/** Creates the parts of the authorization server and connects them. */
import type { FastifyPluginCallback } from 'fastify'
import type { Host, Lifecycle } from '../../kernel/index.ts'
import type { WebApps } from '../cors/service.ts'
import type { Database } from '../database/service.ts'
import type { Resources } from '../fhir/service.ts'
import type { AuthFailureLimit } from '../limits/service.ts'
import type { ProviderLogin } from '../oidc/service.ts'
import type { RegisteredClients } from '../subscriptions/service.ts'
import { type BearerCallers, createBearerCallers } from './bearer/bearer-callers.ts'
import { createAuthenticateClient } from './client-auth/authenticate-client.ts'
import { createCheckAssertion } from './client-auth/client-assertion.ts'
import { createFetchJwks } from './client-auth/fetch-jwks.ts'
import { createJwksCache } from './client-auth/jwks-cache.ts'
import { createAppOrigins } from './clients/app-origins.ts'
import { builtInClient } from './clients/client.ts'
import { type Clients, createClients } from './clients/clients.ts'
import { discoveryRoutes } from './endpoints/discovery.ts'
import { introspectionEndpoint } from './endpoints/introspect.ts'
import { mountForm, mountJson, prepareOAuthScope } from './endpoints/mount-oauth.ts'
import { registrationEndpoint } from './endpoints/register.ts'
import { revocationEndpoint } from './endpoints/revoke.ts'
import { tokenEndpoint } from './endpoints/token.ts'
import { createInitialSecrets } from './initial-secrets.ts'
import { createPublishedKeys } from './keys/published-keys.ts'
import { launchEndpoint } from './launches/launch-endpoint.ts'
import { loginRoutes } from './login-routes.ts'
import { createAuditEventWriter } from './pending-audit-events.ts'
import type { InstalledScopes } from './scopes/installed-scopes.ts'
import { createSessions } from './sessions/sessions.ts'
import { createPruning } from './tokens/prune.ts'

export interface AuthorizationServerParts
  extends Pick<Host, 'run' | 'clock' | 'random' | 'memory' | 'log' | 'request' | 'tellOperator'> {
  readonly database: Database
  readonly failures: AuthFailureLimit | undefined
  readonly installedScopes: InstalledScopes
  readonly resources: Resources
  /** The login at an OpenID provider; undefined when none is configured. */
  readonly provider: ProviderLogin | undefined
  readonly smart: {
    readonly patient?: string
    readonly encounter?: string
    readonly fhir_user?: string
    readonly demo_login: boolean
    readonly dcr_token?: string
    readonly confidential_secret?: string
    readonly signing_key_passphrase?: string
    readonly inside_jwks_hosts: readonly string[]
  }
}

export interface AuthorizationServer {
  readonly bearer: BearerCallers
  readonly apps: WebApps
  readonly registered: RegisteredClients
  /** Routes of the discovery documents and the public keys. Clients may cache the answers. */
  readonly discovery: FastifyPluginCallback
  /** Routes of the OAuth endpoints. */
  readonly endpoints: FastifyPluginCallback
  /** Routes of the login in the browser; undefined where nobody can log in. */
  readonly login: FastifyPluginCallback | undefined
  readonly lifecycle: Lifecycle
}

export const createAuthorizationServer = (parts: AuthorizationServerParts): AuthorizationServer => {
  const { database, run, clock, random, log, smart, failures, installedScopes, resources } = parts
  const secrets = createInitialSecrets(smart)
  const insideHosts = new Set(smart.inside_jwks_hosts)
  const stored = createClients(database, clock, builtInClient(secrets.confidentialSecret))
  const apps = createAppOrigins({ database, clock, log })
  const clients: Clients = {
    ...stored,
    async register(id, metadata) {
      const added = await stored.register(id, metadata)
      await apps.reload().catch((err) => log.error({ err }, 'the clients could not be read again'))
      return added
    },
  }
  const jwks = createJwksCache(createFetchJwks(insideHosts, clock.deadline), clock)
  const checkAssertion = createCheckAssertion({ database, clients, jwks, clock })
  const authenticateClient = createAuthenticateClient({ clients, checkAssertion, failures })
  const bearer = createBearerCallers({ database, clock, memory: parts.memory, failures, resources })
  const keys = createPublishedKeys({ database, passphrase: smart.signing_key_passphrase, clock, log })
  const hasLogin = parts.provider !== undefined || smart.demo_login
  const sessions = createSessions(database, clock)
  const grants = { database, clock, run, resources, signer: keys, bearer, installedScopes }
  // A server that only reads sends on what keys are for, and leaves the rest to the one that writes.
  const lives: readonly Lifecycle[] = database.isReader
    ? [apps, bearer.lifecycle]
    : [keys, apps, bearer.lifecycle, createPruning(database, clock, log), createAuditEventWriter(parts)]
  return {
    bearer,
    apps,
    registered: { isActive: async (id) => (await stored.find(id)) !== undefined },
    discovery: discoveryRoutes({ keys, hasLogin }),
    login: hasLogin ? loginRoutes({ ...parts, clients, sessions, bearer }) : undefined,
    endpoints: (app, _options, done) => {
      prepareOAuthScope(app)
      mountForm(app, run, tokenEndpoint({ ...grants, authenticateClient, hasLogin }))
      mountForm(app, run, introspectionEndpoint({ database, clock, resources, authenticateClient }))
      mountForm(app, run, revocationEndpoint({ database, clock, bearer, authenticateClient }))
      if (hasLogin) mountForm(app, run, launchEndpoint({ database, clock, clients, resources, authenticateClient }))
      const initialToken = secrets.dcrToken
      mountJson(app, run, registrationEndpoint({ clients, random, failures, initialToken, insideHosts }))
      done()
    },
    lifecycle: {
      async start(signal) {
        for (const one of lives) await one.start?.(signal)
        for (const line of secrets.terminalLines) parts.tellOperator(line)
      },
      stop: async () => void (await Promise.all(lives.map((one) => one.stop?.()))),
    },
  }
}
