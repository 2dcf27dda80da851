/** Probes of the token endpoint, of introspection and of revocation: points 2 to 11 and 59 to 77 of the checklist. */
import {
  type Changes,
  exchange,
  introspect,
  issueCode,
  issueTokens,
  proofOf,
  refresh,
  revoke,
  textOf,
} from './requests.ts'
import { challengeOf, membersOf, type Probe, type Target, verdict } from './target.ts'

const withCode = (point: number, about: string, changes: Changes): Probe => ({
  point,
  about,
  run: async (target) => exchange(target, await issueCode(target), changes),
})
const withRefresh = (point: number, about: string, changes: Changes): Probe => ({
  point,
  about,
  run: async (target) => refresh(target, await issueTokens(target), changes),
})
const isActive = async (target: Target, token: string): Promise<boolean> =>
  membersOf(await introspect(target, token)).active === true

/** A code, and the verifier that belongs to another one. */
const afterFailure = async (target: Target) => {
  const issued = await issueCode(target)
  await exchange(target, issued, { code_verifier: 'x'.repeat(43) })
  return exchange(target, issued)
}

const GRANTS = ['password', 'implicit', 'constructor', '__proto__', 'client_credentials', '']

export const TOKEN_PROBES: readonly Probe[] = [
  withCode(61, 'a right exchange', {}),
  {
    point: 71,
    about: 'members of the answer',
    async run(target) {
      const answer = await exchange(target, await issueCode(target))
      const { token_type, expires_in, scope } = membersOf(answer)
      const isKept = answer.headers['cache-control']?.includes('no-store') === true
      return verdict(token_type === 'Bearer' && Number.isInteger(expires_in) && typeof scope === 'string' && isKept)
    },
  },
  {
    point: 1,
    about: 'an error is not cached',
    async run(target) {
      const answer = await exchange(target, await issueCode(target), { code: 'x' })
      return verdict(answer.headers['cache-control']?.includes('no-store') === true)
    },
  },
  {
    point: 2,
    about: 'JSON in place of a form',
    async run(target) {
      const { code, verifier, client } = await issueCode(target)
      const body = JSON.stringify({
        ...{ grant_type: 'authorization_code', code, code_verifier: verifier },
        ...{ redirect_uri: client.redirectUri, client_id: client.id },
      })
      return target.send('token', { body, headers: { 'content-type': 'application/json' } })
    },
  },
  {
    point: 2,
    about: 'a form of 65 KB',
    run: async (target) => exchange(target, await issueCode(target), { x: 'x'.repeat(65_536) }),
  },
  {
    point: 4,
    about: 'code twice',
    async run(target) {
      const { code, verifier, client } = await issueCode(target)
      const form = { grant_type: 'authorization_code', code, redirect_uri: client.redirectUri, client_id: client.id }
      return target.send('token', { form: [...Object.entries({ ...form, code_verifier: verifier }), ['code', code]] })
    },
  },
  {
    point: 7,
    about: 'an error quotes no code',
    async run(target) {
      const answer = await exchange(target, await issueCode(target), { code: 'canary-7f3a' })
      return verdict(!answer.body.includes('canary-7f3a'))
    },
  },
  {
    point: 11,
    about: 'parameters in the URL',
    async run(target) {
      const { code, verifier, client } = await issueCode(target)
      const query = { code, code_verifier: verifier, redirect_uri: client.redirectUri, client_id: client.id }
      return target.send('token', { query, form: { grant_type: 'authorization_code' } })
    },
  },
  {
    point: 60,
    about: 'GET',
    run: (target) => target.send('token', { query: { grant_type: 'authorization_code', code: 'x' } }),
  },
  withCode(60, 'no grant_type', { grant_type: undefined }),
  ...GRANTS.map((one) => withCode(60, `grant_type ${one}`, { grant_type: one })),
  {
    point: 60,
    about: 'a grant that the client is not registered for',
    run: async (target) =>
      exchange(target, await issueCode(target, 'secret'), { grant_type: 'client_credentials', scope: 'system/*.rs' }),
  },
  withCode(61, 'unknown code', { code: 'x'.repeat(43) }),
  withCode(61, 'no code', { code: undefined }),
  {
    point: 61,
    about: 'code of another client',
    run: async (target) => exchange(target, await issueCode(target, 'secret'), {}, target.clients.other),
  },
  withCode(61, 'no redirect_uri', { redirect_uri: undefined }),
  withCode(61, 'another redirect_uri', { redirect_uri: 'https://app.example.org/other' }),
  withCode(62, 'no verifier', { code_verifier: undefined }),
  withCode(61, 'wrong verifier', { code_verifier: 'x'.repeat(43) }),
  withCode(61, 'verifier of 42 characters', { code_verifier: 'x'.repeat(42) }),
  withCode(61, 'verifier of 129 characters', { code_verifier: 'x'.repeat(129) }),
  withCode(61, 'verifier of bad characters', { code_verifier: '!'.repeat(43) }),
  {
    point: 61,
    about: 'the challenge as verifier',
    async run(target) {
      const issued = await issueCode(target)
      return exchange(target, issued, { code_verifier: challengeOf(issued.verifier) })
    },
  },
  {
    point: 63,
    about: 'a code twice',
    async run(target) {
      const issued = await issueCode(target)
      await exchange(target, issued)
      return exchange(target, issued)
    },
  },
  {
    point: 63,
    about: 'a code twice kills what it gave',
    async run(target) {
      const issued = await issueCode(target, 'secret')
      const { access_token } = membersOf(await exchange(target, issued)) as { access_token: string }
      await exchange(target, issued)
      return introspect(target, access_token)
    },
  },
  {
    point: 63,
    about: 'of ten exchanges at once one succeeds',
    async run(target) {
      const issued = await issueCode(target)
      const all = await Promise.all(Array.from({ length: 10 }, () => exchange(target, issued)))
      return verdict(all.filter(({ status }) => status === 200).length <= 1)
    },
  },
  { point: 64, about: 'a failed attempt does not use the code up', run: afterFailure },
  withRefresh(66, 'a right refresh', {}),
  {
    point: 66,
    about: 'a refresh token as access token of a refresh',
    async run(target) {
      const tokens = await issueTokens(target)
      return refresh(target, { ...tokens, refresh_token: tokens.access_token })
    },
  },
  {
    point: 66,
    about: 'refresh by another client',
    run: async (target) => refresh(target, await issueTokens(target, 'secret'), {}, target.clients.other),
  },
  {
    point: 66,
    about: 'refresh by a confidential client without its secret',
    async run(target) {
      const { refresh_token, client } = await issueTokens(target, 'secret')
      return target.send('token', { form: { grant_type: 'refresh_token', refresh_token, client_id: client.id } })
    },
  },
  {
    point: 66,
    about: 'rotation gives another refresh token',
    async run(target) {
      const tokens = await issueTokens(target)
      const next = membersOf(await refresh(target, tokens)).refresh_token
      return verdict(typeof next === 'string' && next !== tokens.refresh_token)
    },
  },
  {
    point: 67,
    about: 'a refresh token twice',
    async run(target) {
      const tokens = await issueTokens(target)
      await refresh(target, tokens)
      return refresh(target, tokens)
    },
  },
  {
    point: 67,
    about: 'a refresh token twice kills the family',
    async run(target) {
      const tokens = await issueTokens(target, 'secret')
      const next = membersOf(await refresh(target, tokens)) as { refresh_token: string; access_token: string }
      const isAlive = await isActive(target, next.access_token)
      await refresh(target, tokens)
      const again = await refresh(target, { ...tokens, ...next })
      return verdict(isAlive && again.status === 400 && !(await isActive(target, next.access_token)))
    },
  },
  withRefresh(68, 'a wider scope', { scope: 'openid patient/*.rs user/*.rs system/*.cruds' }),
  withRefresh(68, 'a narrower scope', { scope: 'patient/*.rs' }),
  {
    point: 77,
    about: 'introspection of a token',
    run: async (target) => {
      const { access_token, client } = await issueTokens(target, 'secret')
      return introspect(target, access_token, client)
    },
  },
  ...[['unknown', 'x'.repeat(43)] as const, ['a JWT', 'eyJhbGciOiJub25lIn0.e30.'] as const].map(
    ([about, token]): Probe => ({
      point: 74,
      about: `introspection of a token: ${about}`,
      run: (target) => introspect(target, token),
    }),
  ),
  {
    point: 75,
    about: 'introspection of the token of another client',
    run: async (target) => introspect(target, (await issueTokens(target, 'secret')).access_token, target.clients.other),
  },
  {
    point: 74,
    about: 'introspection without authentication',
    run: (target) => target.send('introspect', { form: { token: 'x' } }),
  },
  { point: 74, about: 'introspection by GET', run: (target) => target.send('introspect', { query: { token: 'x' } }) },
  {
    point: 76,
    about: 'revocation of an unknown token',
    run: (target) => revoke(target, 'x'.repeat(43), target.clients.secret),
  },
  {
    point: 76,
    about: 'revocation of a refresh token kills the access token',
    async run(target) {
      const { refresh_token, access_token, client } = await issueTokens(target, 'secret')
      await revoke(target, refresh_token, client)
      return introspect(target, access_token, client)
    },
  },
  {
    point: 76,
    about: 'revocation of an access token keeps the refresh token',
    async run(target) {
      const tokens = await issueTokens(target, 'secret')
      await revoke(target, tokens.access_token, tokens.client)
      return refresh(target, tokens)
    },
  },
  {
    point: 76,
    about: 'revocation of the token of another client keeps it',
    async run(target) {
      const { access_token, client } = await issueTokens(target, 'secret')
      await revoke(target, access_token, target.clients.other)
      return introspect(target, access_token, client)
    },
  },
  {
    point: 76,
    about: 'revocation without authentication',
    run: (target) => target.send('revoke', { form: { token: 'x' } }),
  },
  { point: 76, about: 'revocation by GET', run: (target) => target.send('revoke', { query: { token: 'x' } }) },
  {
    point: 2,
    about: 'a form that calls itself plain text',
    async run(target) {
      const { form } = proofOf(target.clients.app)
      return target.send('token', { body: textOf(form), headers: { 'content-type': 'text/plain' } })
    },
  },
]
