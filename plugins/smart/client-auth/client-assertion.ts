/**
 * Authenticates a client by a signed JWT (private_key_jwt). RFC 7523, section 3; SMART App Launch, "Asymmetric
 * authentication". The client learns only that it was refused; the reason goes to the log.
 */
import { hash } from 'node:crypto'
import type { JWTPayload } from 'jose'
import type { Clock } from '../../../kernel/index.ts'
import type { Database } from '../../database/service.ts'
import { parseJson } from '../../model/service.ts'
import type { AssertionAlg, Client, ClientJwk } from '../clients/client.ts'
import type { Clients } from '../clients/clients.ts'
import { ASSERTION_ALGS, fitsAlg } from '../clients/public-jwk.ts'
import { insertJti } from '../tables.ts'
import type { JwksCache } from './jwks-cache.ts'

const MAX_LIFE_SECONDS = 300 // SMART: the expiry is no more than five minutes in the future
const TOLERANCE_SECONDS = 10
const MAX_JTI = 256 // characters
const MAX_LENGTH = 16_384 // characters of an assertion

export interface ClientAssertionParts {
  readonly database: Database
  readonly clients: Clients
  readonly jwks: JwksCache
  readonly clock: Clock
}

interface Asked {
  readonly assertion: string
  /** `client_id` of the form, if it was sent. */
  readonly clientId: string | undefined
  readonly tokenUrl: string
}

interface Head {
  readonly alg: AssertionAlg
  readonly kid: string
  readonly jku: string | undefined
}

class Refused extends Error {}

const refuse = (why: string): never => {
  throw new Refused(why)
}

/** True for base64url as RFC 7515 writes it: without padding, line breaks, or bits that decoding drops. */
const isBase64Url = (part: string): boolean => Buffer.from(part, 'base64url').toString('base64url') === part

/** Decodes one part of the JWT. Refuses anything but an object without duplicate members. */
const readPart = (part: string | undefined): Readonly<Record<string, unknown>> => {
  if (part === undefined || part === '') return refuse('it is no JWT')
  const { value } = parseJson(Buffer.from(part, 'base64url'))
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return refuse('a part is no object')
  return value as Readonly<Record<string, unknown>>
}

const readHead = (part: string | undefined): Head => {
  const { alg, kid, jku, crit, b64 } = readPart(part)
  if (typeof kid !== 'string' || kid === '') return refuse('kid is missing')
  if (!ASSERTION_ALGS.includes(alg as AssertionAlg)) return refuse('alg is none that is taken')
  if (crit !== undefined || b64 !== undefined) return refuse('it has extensions')
  if (jku !== undefined && typeof jku !== 'string') return refuse('jku is no text')
  return { alg: alg as AssertionAlg, kid, jku }
}

const idOf = (payload: Readonly<Record<string, unknown>>, clientId: string | undefined): string => {
  const { iss, sub } = payload
  if (typeof iss !== 'string' || iss !== sub) return refuse('iss and sub are not one client')
  return clientId === undefined || clientId === iss ? iss : refuse('client_id is another client')
}

/** The client's public key with the `kid` of the assertion. Refuses when no key has it, or several. */
const keyFor = async ({ metadata }: Client, { alg, kid, jku }: Head, jwks: JwksCache): Promise<ClientJwk> => {
  const { jwks: own, jwks_uri: uri, token_endpoint_auth_signing_alg: registered } = metadata
  if (registered !== undefined && registered !== alg) return refuse('alg is not the one registered')
  if (jku !== undefined && jku !== uri) return refuse('jku is not the URL registered')
  const named = uri === undefined ? (own?.keys ?? []).filter((key) => key.kid === kid) : await jwks.find(uri, kid)
  const [key] = named
  if (key === undefined || named.length > 1) return refuse('kid names no key, or several')
  return fitsAlg(key, alg) ? key : refuse('the key does not fit alg')
}

/**
 * Checks claims whose types jose does not check, and limits of this server. Returns `exp` in seconds since the epoch.
 */
const checkClaims = ({ aud, exp, jti }: JWTPayload, tokenUrl: string, now: number): number => {
  const audience = Array.isArray(aud) && aud.length === 1 ? aud[0] : aud
  // Only one audience is allowed: another server that accepts the same assertion could pass it on to this one.
  if (audience !== tokenUrl) return refuse('aud is not the token endpoint')
  if (typeof exp !== 'number' || exp > now / 1000 + MAX_LIFE_SECONDS + TOLERANCE_SECONDS)
    return refuse('exp is missing or too late')
  if (typeof jti !== 'string' || jti === '' || jti.length > MAX_JTI) return refuse('jti is missing or too long')
  return exp
}

/** Stores the identifier as used. False when the client has used it before, on any server. */
const consume = async (database: Database, client: string, jti: string, exp: number): Promise<boolean> => {
  const idHash = hash('sha256', JSON.stringify([client, jti]), 'buffer')
  const expiresAt = Math.ceil(exp + TOLERANCE_SECONDS + 1) * 1000
  return database.transact(async (transaction) => (await transaction.get(insertJti, [idHash, expiresAt])) !== undefined)
}

const verify = async (parts: ClientAssertionParts, { assertion, clientId, tokenUrl }: Asked): Promise<Client> => {
  const { database, clients, jwks, clock } = parts
  if (assertion.length > MAX_LENGTH) return refuse('it is too long')
  const written = assertion.split('.')
  // jose accepts white space in the signature.
  if (written.length !== 3 || !written.every(isBase64Url)) return refuse('it is no JWT')
  const [head, payload] = written
  const asked = readHead(head)
  const id = idOf(readPart(payload), clientId)
  const client = await clients.find(id)
  if (client?.metadata.token_endpoint_auth_method !== 'private_key_jwt') return refuse('the client is unknown')
  const { importJWK, jwtVerify } = await import('jose')
  const key = await importJWK(await keyFor(client, asked, jwks), asked.alg)
  const { payload: claims } = await jwtVerify(assertion, key, {
    algorithms: [asked.alg],
    issuer: id,
    subject: id,
    requiredClaims: ['aud', 'exp', 'jti'],
    currentDate: new Date(clock.now()),
    clockTolerance: TOLERANCE_SECONDS,
  })
  const exp = checkClaims(claims, tokenUrl, clock.now())
  if (typeof claims.iat === 'number' && claims.iat > clock.now() / 1000 + TOLERANCE_SECONDS)
    return refuse('iat is in the future')
  // The identifier is stored last, so that an assertion refused for another reason does not use it up.
  if (!(await consume(database, id, claims.jti as string, exp))) return refuse('jti was used before')
  return client
}

/** Rejects on failures of the database; every other failure resolves to a reason for the log. */
export type CheckAssertion = (asked: Asked) => Promise<Client | { readonly refused: string }>

export const createCheckAssertion =
  (parts: ClientAssertionParts): CheckAssertion =>
  async (asked) => {
    try {
      return await verify(parts, asked)
    } catch (error) {
      const status = (error as { status?: number }).status
      if (status !== undefined && status >= 500) throw error
      return { refused: error instanceof Error ? error.message.slice(0, 200) : 'it cannot be read' }
    }
  }
