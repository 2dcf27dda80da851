/** A server whose people log in at a fake provider, and the service through which the authorization server lets them. */
import { definePlugin } from '../../kernel/index.ts'
import database from '../../plugins/database/index.ts'
import limits from '../../plugins/limits/index.ts'
import oidc from '../../plugins/oidc/index.ts'
import { ProviderLogin } from '../../plugins/oidc/service.ts'
import probes from '../../plugins/probes/index.ts'
import smart from '../../plugins/smart/index.ts'
import { CLIENT_ID, CLIENT_SECRET, type FakeProvider } from './fake-provider.ts'
import { fhirPlugins } from './fhir-plugins.ts'
import type { ManualClock } from './manual-clock.ts'
import { searchDefinitions } from './search-definitions.ts'
import type { TestServer } from './server-with.ts'
import { ISSUER, smartServer } from './smart-server.ts'

export const CALLBACK = `${ISSUER}/oauth/callback`

export interface LoginServer {
  readonly server: TestServer
  readonly login: ProviderLogin
  /** A whole login: there and back. */
  go(options?: { forceLogin?: boolean }): ReturnType<ProviderLogin['finish']>
}

export const loginServer = async (
  provider: Pick<FakeProvider, 'issuer' | 'visit'>,
  own: Readonly<Record<string, unknown>> = {},
  clock?: ManualClock,
): Promise<LoginServer> => {
  const seen: ProviderLogin[] = []
  const reader = definePlugin({
    name: 'login-reader',
    needs: { login: ProviderLogin },
    setup: ({ needs }) => void seen.push(needs.login),
  })
  const server = await smartServer({
    plugins: [
      database,
      searchDefinitions('Practitioner|Resource'),
      ...fhirPlugins,
      probes,
      limits,
      oidc,
      smart,
      reader,
    ],
    ...(clock !== undefined && { clock }),
    smart: { oidc: { issuer: provider.issuer, client_id: CLIENT_ID, client_secret: CLIENT_SECRET, ...own } },
    settings: { conformance: { update_as_create: true } },
  })
  const login = seen[0] as ProviderLogin
  return {
    server,
    login,
    async go({ forceLogin = false } = {}) {
      const { redirect, memory } = await login.start({ callback: CALLBACK, forceLogin, request: 'r1' })
      return login.finish({ url: await provider.visit(redirect), callback: CALLBACK, memory })
    },
  }
}

/** Key of the error that a login ends with, or `in`. */
export const outcomeOf = (login: Promise<unknown>): Promise<string> =>
  login.then(
    () => 'in',
    (error: { key?: string; message: string }) => error.key?.replace('oidc/', '') ?? `broken: ${error.message}`,
  )
