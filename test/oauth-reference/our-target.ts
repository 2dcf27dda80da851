/** This server, with the demo login. */
import { goThrough, loginClinic, registerApp } from '../support/login-clinic.ts'
import { DCR_TOKEN, FORM, ISSUER, registerService, TOKEN_URL } from '../support/smart-server.ts'
import { createTestBrowser } from '../support/test-browser.ts'
import { paramsOf, type Target } from './target.ts'

const PATHS = {
  authorize: '/oauth/authorize',
  token: '/oauth/token',
  introspect: '/oauth/introspect',
  revoke: '/oauth/revoke',
  register: '/oauth/register',
  jwks: '/oauth/jwks',
  discovery: '/.well-known/openid-configuration',
} as const

export const startOurs = async (): Promise<Target> => {
  const server = await loginClinic({
    smart: { fhir_user: 'Practitioner/doc' },
    settings: { rate_limit: { auth_failures_per_minute: 10_000, requests_per_second: 1e6, burst: 1e6 } },
  })
  const secret = { token_endpoint_auth_method: 'client_secret_basic' }
  const native = { application_type: 'native', redirect_uris: ['http://127.0.0.1/cb'] }
  const registered = {
    app: await registerApp(server),
    native: await registerApp(server, native),
    secret: await registerApp(server, secret),
    other: await registerApp(server, secret),
  }
  const clientOf = ({ id, redirectUri, secret: own }: (typeof registered)['app']) => ({
    ...{ id, redirectUri },
    ...(own !== undefined && { secret: own }),
  })
  const service = await registerService(server)
  return {
    ...{ name: 'ours', issuer: ISSUER, tokenUrl: TOKEN_URL, dcrToken: DCR_TOKEN },
    clients: {
      app: clientOf(registered.app),
      native: clientOf(registered.native),
      secret: clientOf(registered.secret),
      other: clientOf(registered.other),
      service,
    },
    async send(endpoint, { method, query, form, body, headers }) {
      const payload = body ?? (form === undefined ? undefined : paramsOf(form).toString())
      const answer = await server.inject({
        method: (method ?? (payload === undefined ? 'GET' : 'POST')) as 'GET',
        url: `${PATHS[endpoint]}${query === undefined ? '' : `?${paramsOf(query).toString()}`}`,
        headers: { ...(form !== undefined && { 'content-type': FORM }), ...headers },
        ...(payload !== undefined && { payload }),
      })
      const texts = Object.entries(answer.headers).map(([name, value]) => [name, String(value)])
      return { status: answer.statusCode, headers: Object.fromEntries(texts), body: answer.body }
    },
    async visit(query) {
      const page = await goThrough(createTestBrowser(server), `${PATHS.authorize}?${paramsOf(query).toString()}`)
      return page.hasLeft ? page.url : `${ISSUER}${page.url}`
    },
    stop: () => server.stop(),
  }
}
