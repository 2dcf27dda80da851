/** Probes of the authorization endpoint: points 1 to 29 of the checklist. */
import { authorization, authorize, authorizeWith, type Changes, issueCode } from './requests.ts'
import { type Probe, type Target, verdict } from './target.ts'

const probe = (point: number, about: string, changes: Changes, client: 'app' | 'native' | 'secret' = 'app'): Probe => ({
  point,
  about,
  run: (target) => authorize(target, changes, client),
})
const twice = (point: number, name: string, value: string): Probe => ({
  point,
  about: `${name} twice`,
  run: (target) => authorizeWith(target, [name, value]),
})
const redirectUri = (about: string, change: (uri: string) => string): Probe => ({
  point: 13,
  about: `redirect_uri ${about}`,
  run: (target) => authorize(target, { redirect_uri: change(target.clients.app.redirectUri) }),
})
const backOf = async (target: Target): Promise<URL> =>
  new URL(await target.visit(authorization(target, target.clients.app)))

export const AUTHORIZE_PROBES: readonly Probe[] = [
  probe(12, 'a right request', {}),
  {
    point: 12,
    about: 'a right request by POST',
    run: (target) => target.send('authorize', { form: authorization(target, target.clients.app) }),
  },
  {
    point: 1,
    about: 'the redirect to the login is not cached',
    run: async (target) => verdict((await authorize(target)).headers['cache-control']?.includes('no-store') === true),
  },
  {
    point: 2,
    about: 'JSON in place of a form',
    run: (target) =>
      target.send('authorize', {
        method: 'POST',
        body: JSON.stringify(authorization(target, target.clients.app)),
        headers: { 'content-type': 'application/json' },
      }),
  },
  probe(3, 'an unknown parameter', { unknown: 'x' }),
  probe(3, 'empty scope', { scope: '' }),
  twice(4, 'state', 's2'),
  twice(4, 'scope', 'openid'),
  twice(4, 'code_challenge', 'x'),
  twice(4, 'response_type', 'code'),
  probe(5, 'client_id is a member of every object', { client_id: 'constructor' }),
  probe(5, 'client_id is __proto__', { client_id: '__proto__' }),
  probe(12, 'no client_id', { client_id: undefined }),
  probe(12, 'unknown client_id', { client_id: 'nobody' }),
  twice(12, 'client_id', 'other'),
  probe(13, 'no redirect_uri', { redirect_uri: undefined }),
  twice(13, 'redirect_uri', 'https://evil.test/'),
  redirectUri('of another host', () => 'https://evil.test/callback'),
  redirectUri('with a slash more', (uri) => `${uri}/`),
  redirectUri('in capitals', (uri) => uri.replace('callback', 'CALLBACK')),
  redirectUri('with a query', (uri) => `${uri}?x=1`),
  redirectUri('with a port', (uri) => uri.replace('.org', '.org:8443')),
  redirectUri('with http', (uri) => uri.replace('https', 'http')),
  redirectUri('with an encoded point', (uri) => uri.replace('app.', 'app%2e')),
  redirectUri('with a path upwards', (uri) => uri.replace('/callback', '/x/../callback')),
  redirectUri('with a user', (uri) => uri.replace('//', '//user@')),
  redirectUri('with a fragment', (uri) => `${uri}#x`),
  redirectUri('that is a script', () => 'javascript:alert(1)'),
  probe(14, 'a native app with another port', { redirect_uri: 'http://127.0.0.1:51004/cb' }, 'native'),
  probe(14, 'a native app with another loopback name', { redirect_uri: 'http://localhost:51004/cb' }, 'native'),
  probe(14, 'a native app with another path', { redirect_uri: 'http://127.0.0.1:51004/other' }, 'native'),
  probe(15, 'a bad scope and a bad redirect_uri', { scope: '"', redirect_uri: 'https://evil.test/' }),
  probe(16, 'no response_type', { response_type: undefined }),
  ...['token', 'id_token', 'code id_token', 'none', 'CODE'].map((one) =>
    probe(16, `response_type ${one}`, { response_type: one }),
  ),
  ...['fragment', 'form_post', 'x'].map((one) => probe(16, `response_mode ${one}`, { response_mode: one })),
  probe(16, 'response_mode query', { response_mode: 'query' }),
  probe(17, 'request', { request: 'eyJhbGciOiJub25lIn0.e30.' }),
  probe(17, 'request_uri', { request_uri: 'http://127.0.0.1:1/x' }),
  probe(17, 'registration', { registration: '{}' }),
  probe(18, 'no PKCE', { code_challenge: undefined, code_challenge_method: undefined }),
  probe(18, 'challenge without a method', { code_challenge_method: undefined }),
  probe(18, 'method without a challenge', { code_challenge: undefined }),
  probe(18, 'method plain', { code_challenge_method: 'plain' }),
  probe(18, 'method S512', { code_challenge_method: 'S512' }),
  probe(18, 'challenge of 42 characters', { code_challenge: 'x'.repeat(42) }),
  probe(18, 'challenge of 129 characters', { code_challenge: 'x'.repeat(129) }),
  probe(18, 'challenge of bad characters', { code_challenge: '!'.repeat(43) }),
  probe(
    19,
    'no PKCE by a confidential client',
    { code_challenge: undefined, code_challenge_method: undefined },
    'secret',
  ),
  probe(20, 'no aud', { aud: undefined }),
  probe(20, 'aud of another server', { aud: 'https://evil.test' }),
  probe(21, 'scope with bad characters', { scope: 'openid "' }),
  probe(21, 'only unknown scopes', { scope: 'nothing' }),
  probe(21, 'known and unknown scopes', { scope: 'openid nothing' }),
  probe(22, 'nonce without openid', { scope: 'launch/patient patient/*.rs' }),
  probe(23, 'prompt none without a session', { prompt: 'none' }),
  probe(23, 'prompt none with another', { prompt: 'none login' }),
  probe(23, 'unknown prompt', { prompt: 'x' }),
  probe(23, 'prompt login', { prompt: 'login' }),
  probe(24, 'max_age 0', { max_age: '0' }),
  ...['-1', 'x', '1.5'].map((one) => probe(24, `max_age ${one}`, { max_age: one })),
  probe(25, 'id_token_hint that is none', { id_token_hint: 'x.y.z' }),
  {
    point: 26,
    about: 'the state comes back unchanged',
    async run(target) {
      const state = 'a b+&=#é"%20'
      const end = await target.visit(authorization(target, target.clients.app, { state }))
      return verdict(new URL(end).searchParams.get('state') === state)
    },
  },
  {
    point: 26,
    about: 'the state comes back with an error',
    async run(target) {
      const { headers } = await authorize(target, { prompt: 'none', state: 'a b+&=' })
      return verdict(new URL(headers.location ?? 'x:').searchParams.get('state') === 'a b+&=')
    },
  },
  probe(26, 'no state', { state: undefined }),
  {
    point: 27,
    about: 'iss in the response',
    run: async (target) => verdict((await backOf(target)).searchParams.get('iss') === target.issuer),
  },
  {
    point: 27,
    about: 'iss in an error',
    async run(target) {
      const { headers } = await authorize(target, { prompt: 'none' })
      return verdict(new URL(headers.location ?? 'x:').searchParams.get('iss') === target.issuer)
    },
  },
  {
    point: 28,
    about: 'the redirect is a 303',
    run: async (target) => verdict((await authorize(target)).status === 303),
  },
  {
    point: 9,
    about: 'codes are long and differ',
    async run(target) {
      const codes = [await issueCode(target), await issueCode(target)].map(({ code }) => code)
      return verdict(codes[0] !== codes[1] && codes.every((code) => code.length >= 43))
    },
  },
  {
    point: 82,
    about: 'CORS at the authorization endpoint',
    run: async (target) => {
      const { headers } = await target.send('authorize', {
        query: authorization(target, target.clients.app),
        headers: { origin: 'https://app.example.org' },
      })
      return verdict(headers['access-control-allow-origin'] === undefined)
    },
  },
]
