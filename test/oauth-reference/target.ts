/** A server that is probed, and the class of its answers. */
import { createHash, randomBytes } from 'node:crypto'
import type { SigningKey } from '../support/smart-server.ts'

export const ENDPOINTS = ['authorize', 'token', 'introspect', 'revoke', 'register', 'jwks', 'discovery'] as const
export type Endpoint = (typeof ENDPOINTS)[number]

export type Pairs = Readonly<Record<string, string>> | readonly (readonly [string, string])[]

export interface Sent {
  readonly method?: string
  readonly query?: Pairs
  readonly form?: Pairs
  /** In place of a form, with its media type in the headers. */
  readonly body?: string
  readonly headers?: Readonly<Record<string, string>>
}

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: string
}

export interface Client {
  readonly id: string
  readonly secret?: string
  readonly redirectUri: string
}

export interface Target {
  readonly name: string
  readonly issuer: string
  readonly tokenUrl: string
  readonly dcrToken: string
  /** `app` and `native` are public, `secret` and `other` have a secret; `service` has a key. */
  readonly clients: Readonly<Record<'app' | 'native' | 'secret' | 'other', Client>> & {
    readonly service: { readonly id: string; readonly key: SigningKey }
  }
  send(endpoint: Endpoint, sent: Sent): Promise<Answer>
  /** A person logs in and consents: the URL that the browser ends at. */
  visit(query: Pairs): Promise<string>
  stop(): Promise<void>
}

export interface Probe {
  /** Number in the checklist of the authorization server. */
  readonly point: number
  readonly about: string
  run(target: Target): Promise<Answer>
}

export const paramsOf = (pairs: Pairs): URLSearchParams => new URLSearchParams(pairs as Record<string, string>)

export const challengeOf = (verifier: string): string => createHash('sha256').update(verifier).digest('base64url')
export const newVerifier = (): string => randomBytes(32).toString('base64url')

const jsonOf = (body: string): Readonly<Record<string, unknown>> => {
  try {
    const value: unknown = JSON.parse(body)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}
export const membersOf = ({ body }: Answer): Readonly<Record<string, unknown>> => jsonOf(body)

export interface Class {
  /** `accepted`, `login`, `error by redirect`, `refused` (4xx without a redirect), `broken` (5xx). */
  readonly kind: string
  /** The OAuth error code, or what else tells more. */
  readonly detail: string
}

/** Whoever redirects to the client has either given it a code or an error; other redirects lead to the login. */
export const classOf = (answer: Answer): Class => {
  const { status, headers } = answer
  if (status >= 500) return { kind: 'broken', detail: String(status) }
  const location = headers.location
  if (status >= 300 && location !== undefined) {
    const url = new URL(location, 'http://server.invalid')
    // Other response types than `code` have their errors in the fragment.
    const error = url.searchParams.get('error') ?? new URLSearchParams(url.hash.slice(1)).get('error')
    if (error !== null) return { kind: 'error by redirect', detail: error }
    return url.searchParams.has('code') ? { kind: 'accepted', detail: 'code' } : { kind: 'login', detail: '' }
  }
  const { error, active } = jsonOf(answer.body)
  if (status >= 400) return { kind: 'refused', detail: `${status} ${typeof error === 'string' ? error : 'page'}` }
  if (typeof active === 'boolean') return { kind: active ? 'accepted' : 'refused', detail: `active: ${active}` }
  return { kind: 'accepted', detail: '' }
}

/** An answer of the probe itself, where what counts is not a status. */
export const verdict = (isRight: boolean): Answer => ({ status: isRight ? 200 : 400, headers: {}, body: '' })
