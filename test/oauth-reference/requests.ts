/** Requests that are right, for probes to change. */
import { basicOf } from '../support/smart-server.ts'
import {
  type Answer,
  type Client,
  challengeOf,
  membersOf,
  newVerifier,
  type Pairs,
  paramsOf,
  type Target,
} from './target.ts'

export type Changes = Readonly<Record<string, string | undefined>>
type Name = 'app' | 'native' | 'secret' | 'other'

const SCOPE = 'openid offline_access launch/patient patient/*.rs'

/** `undefined` leaves a parameter out. */
export const changed = (right: Readonly<Record<string, string>>, changes: Changes = {}): Record<string, string> =>
  Object.fromEntries(
    Object.entries({ ...right, ...changes }).filter((pair): pair is [string, string] => pair[1] !== undefined),
  )

export const authorization = (target: Target, client: Client, changes: Changes = {}, verifier = newVerifier()) =>
  changed(
    {
      ...{ response_type: 'code', client_id: client.id, redirect_uri: client.redirectUri, scope: SCOPE, state: 's1' },
      ...{ aud: target.issuer, nonce: 'n1', code_challenge: challengeOf(verifier), code_challenge_method: 'S256' },
    },
    changes,
  )

export const authorize = (target: Target, changes: Changes = {}, name: Name = 'app'): Promise<Answer> =>
  target.send('authorize', { query: authorization(target, target.clients[name], changes) })

/** The request with one more pair. */
export const authorizeWith = (target: Target, ...more: readonly (readonly [string, string])[]): Promise<Answer> =>
  target.send('authorize', { query: [...Object.entries(authorization(target, target.clients.app)), ...more] })

export const proofOf = ({ id, secret }: Client): { form: Record<string, string>; headers: Record<string, string> } =>
  secret === undefined
    ? { form: { client_id: id }, headers: {} }
    : { form: {}, headers: { authorization: basicOf(id, secret) } }

export interface Issued {
  readonly code: string
  readonly verifier: string
  readonly client: Client
}

export const issueCode = async (target: Target, name: Name = 'app', changes: Changes = {}): Promise<Issued> => {
  const client = target.clients[name]
  const verifier = newVerifier()
  const end = await target.visit(authorization(target, client, changes, verifier))
  const code = new URL(end).searchParams.get('code')
  if (code === null) throw new Error(`${target.name} gives no code: ${end}`)
  return { code, verifier, client }
}

export const exchange = (
  target: Target,
  { code, verifier, client }: Issued,
  changes: Changes = {},
  as: Client = client,
): Promise<Answer> => {
  const { form, headers } = proofOf(as)
  const right = {
    ...{ grant_type: 'authorization_code', code, redirect_uri: client.redirectUri, code_verifier: verifier, ...form },
  }
  return target.send('token', { form: changed(right, changes), headers })
}

export interface Tokens {
  readonly access_token: string
  readonly refresh_token: string
  readonly client: Client
}

export const issueTokens = async (target: Target, name: Name = 'app'): Promise<Tokens> => {
  const issued = await issueCode(target, name)
  const answer = await exchange(target, issued)
  const members = membersOf(answer) as unknown as Tokens
  if (members.refresh_token === undefined) throw new Error(`${target.name} gives no tokens: ${answer.body}`)
  return { ...members, client: issued.client }
}

export const refresh = (
  target: Target,
  { refresh_token, client }: Tokens,
  changes: Changes = {},
  as: Client = client,
): Promise<Answer> => {
  const { form, headers } = proofOf(as)
  const right = { grant_type: 'refresh_token', refresh_token, ...form }
  return target.send('token', { form: changed(right, changes), headers })
}

const asked = (target: Target, endpoint: 'introspect' | 'revoke', token: string, as: Client): Promise<Answer> => {
  const { form, headers } = proofOf(as)
  return target.send(endpoint, { form: { token, ...form }, headers })
}
export const introspect = (target: Target, token: string, as = target.clients.secret): Promise<Answer> =>
  asked(target, 'introspect', token, as)
export const revoke = (target: Target, token: string, as: Client): Promise<Answer> => asked(target, 'revoke', token, as)

export const textOf = (pairs: Pairs): string => paramsOf(pairs).toString()
