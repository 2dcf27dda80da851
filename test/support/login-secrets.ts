/** Logins with all that they make, and all that nobody else may know of them. */
import audit from '../../plugins/audit/index.ts'
import requestLog from '../../plugins/request-log/index.ts'
import {
  type App,
  askFor,
  bearing,
  clinicPlugins,
  codeOf,
  exchange,
  goThrough,
  loginClinic,
  refresh,
  type Tokens,
} from './login-clinic.ts'
import type { AnsweringServer, TestServer } from './server-with.ts'
import { BUILT_IN_BASIC, CONFIDENTIAL_SECRET, DCR_TOKEN, postForm } from './smart-server.ts'
import type { TestBrowser } from './test-browser.ts'

const PERSON = 'Canary Name of the Person'

/** What is secret whoever logs in. */
export const COMMON_SECRETS: readonly string[] = [DCR_TOKEN, CONFIDENTIAL_SECRET, PERSON]

/** A clinic that stores and logs as much as it can: audit events, and each request in the log and in its table. */
export const talkativeClinic = (settings: Record<string, unknown>): Promise<TestServer> =>
  loginClinic({
    settings: {
      ...settings,
      request_log: { enabled: true, store: true },
      rate_limit: { anonymous_requests_per_second: 1e6, anonymous_burst: 1e6, auth_failures_per_minute: 100_000 },
    },
    plugins: [...clinicPlugins, audit, requestLog],
    smart: { fhir_user: 'Practitioner/doc' },
  })

const csrfOf = (body: string): string => /name="csrf" value="([^"]+)"/.exec(body)?.[1] ?? ''

/**
 * A launch, a login, its tokens, a refresh, and the reuse of each; with requests that are refused. Returns the secrets:
 * codes, tokens, cookies, verifiers, ids of logins and of launches, and signatures of ID tokens.
 */
export const logInWithSecrets = async (
  server: AnsweringServer,
  app: App,
  browser: TestBrowser,
): Promise<readonly string[]> => {
  const secrets: string[] = []
  const keepCookies = (): void => {
    for (const [, value] of browser.cookies) secrets.push(...value.split('.'))
  }
  const launched = await postForm(server, '/oauth/launch', { patient: 'p1' }, { authorization: BUILT_IN_BASIC })
  const { launch } = launched.json() as { launch: string }
  const asked = askFor(app, 'launch openid fhirUser patient/*.rs offline_access', { launch })
  const refused = await browser.open(asked.url.replace(/client_id=[^&]*/, 'client_id=unknown'))
  if (refused.status !== 400) throw new Error(`an unknown app got ${refused.status}`)
  const page = await browser.open(asked.url)
  secrets.push(launch, asked.verifier, page.url.split('/').at(-2) ?? '', csrfOf(page.body))
  keepCookies()
  const code = codeOf(await goThrough(browser, page.url, { name: PERSON }))
  keepCookies()
  const tokens = (await exchange(server, app, code, asked.verifier)).json() as Tokens
  const again = (await refresh(server, app, tokens.refresh_token ?? '')).json() as Tokens
  secrets.push(code)
  for (const one of [tokens, again])
    secrets.push(one.access_token, one.refresh_token ?? '', one.id_token?.split('.')[2] ?? '')
  await server.inject({ url: '/Patient/p1', headers: bearing(again.access_token) })
  await server.inject({ url: `/Patient/p1?access_token=${again.access_token}` })
  await refresh(server, app, tokens.refresh_token ?? '')
  await exchange(server, app, code, asked.verifier)
  await server.inject({ url: `/oauth/callback?state=${asked.state}&code=${code}` })
  return secrets.filter((secret) => secret !== '')
}
