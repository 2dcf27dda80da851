/**
 * Finds the caller of an access token. RFC 6750. A cached token and the record of its person are read from the database
 * again after a second, so that each server notices a revocation, and what has become of the person.
 */
import { LRUCache } from 'lru-cache'
import type { Caller, Clock, RequestContext, ServerError } from '../../../kernel/index.ts'
import { chain, type Database, type MaybePromise } from '../../database/service.ts'
import type { Resources } from '../../fhir/service.ts'
import type { AuthFailureLimit } from '../../limits/service.ts'
import { BUILT_IN } from '../clients/client.ts'
import { TokenExpired, TokenUnknown } from '../errors.ts'
import { contextOf } from '../grants/launch-context.ts'
import { mayKeep, type PatientAccess, patientAccessOf } from '../people/patient-access.ts'
import { personOf } from '../people/person.ts'
import { hashOf, tokenIdOf } from '../secret.ts'
import { findToken, type TokenRow } from '../tables.ts'
import { isAlive } from '../tokens/access-tokens.ts'
import { isOpenRoute } from './require-token.ts'

const MAX_KNOWN = 20_000
const TRUSTED_MS = 1_000 // spec: a revocation is seen by every server within a second; so is a change of the person's record

const USUAL_HEADER = 'Bearer '.length + 43 // characters; 43 of them are 256 bits in base64url

const BEARER = /^Bearer +([A-Za-z0-9._~+/-]+=*)$/i
const CHALLENGE = { headers: { 'www-authenticate': 'Bearer error="invalid_token"' } }

interface Known {
  readonly caller: Caller
  readonly expiresAt: number
  /** Ids in hexadecimal of the grant and of the session it depends on. */
  readonly grant: string | undefined
  readonly session: string | undefined
  /** Monotonic time of the last look-up in the database, in milliseconds; -Infinity asks for another one. */
  askedAt: number
}

export interface BearerCallers {
  /**
   * For the hook `authenticate`. Undefined when the request has no access token. Throws 401 for an unknown or expired
   * token, and 429 after too many unknown tokens from one address.
   */
  identify(request: RequestContext): MaybePromise<Caller | undefined>
  /** Removes a token from the cache after this server has revoked it. */
  forget(token: string): void
  /** Likewise, all tokens of a grant. */
  forgetGrant(grantId: Uint8Array): void
  /** Likewise, all tokens that depend on a session. */
  forgetSession(idHash: Uint8Array): void
}

const hexOf = (bytes: Uint8Array | null): string | undefined =>
  bytes === null ? undefined : Buffer.from(bytes).toString('hex')

/** The caller that a token stands for. `relatedTo` is the patient of a RelatedPerson. */
const callerOf = (row: TokenRow, idHash: Buffer, relatedTo: string | undefined): Caller => {
  const scopes = Object.freeze(row.scope.split(' '))
  const own = { client: row.client_id, scopes, tokenId: tokenIdOf(idHash) }
  if (row.person === null || row.context === null) return Object.freeze({ kind: 'client', ...own })
  const { fhirUser } = personOf(row.person)
  const { patient, encounter } = contextOf(row.context)
  return Object.freeze({
    kind: 'user',
    ...own,
    ...(fhirUser !== undefined && { user: fhirUser }),
    ...(relatedTo !== undefined && { relatedTo }),
    launch: Object.freeze({ ...(patient !== undefined && { patient }), ...(encounter !== undefined && { encounter }) }),
  })
}

export interface BearerParts {
  readonly database: Database
  readonly clock: Clock
  readonly failures: AuthFailureLimit | undefined
  readonly resources: Resources
}

export const createBearerCallers = (parts: BearerParts): BearerCallers => {
  const { database, clock, failures } = parts
  /** By the hash of the token. */
  const known = new LRUCache<string, Known>({ max: MAX_KNOWN })
  /** The same by the header, because hashing takes a tenth of a read. Only memory holds these headers. */
  const byHeader = new LRUCache<string, Known>({ max: MAX_KNOWN })
  const isTrusted = ({ askedAt, expiresAt }: Known): boolean =>
    clock.monotonic() - askedAt < TRUSTED_MS && clock.now() < expiresAt
  const unknown = (error: ServerError): never => {
    throw error.with(CHALLENGE)
  }
  const forget = (key: string, one: Known | undefined): void => {
    if (one === undefined) return
    one.askedAt = Number.NEGATIVE_INFINITY
    known.delete(key)
  }
  const checkAlive = (key: string, row: TokenRow | undefined): TokenRow => {
    if (row !== undefined && isAlive(row, clock, BUILT_IN)) return row
    forget(key, known.get(key))
    const isExpired = row !== undefined && Number(row.expires_at) <= clock.now()
    return unknown(isExpired ? TokenExpired() : TokenUnknown())
  }
  /**
   * The patient of a RelatedPerson, undefined for others. Throws 401 when the person may not use the token any more. A
   * client that acts for itself, and a person without a record, are not waited for.
   */
  const checkPerson = (request: RequestContext, key: string, row: TokenRow): MaybePromise<string | undefined> => {
    const { person: json, context } = row
    if (json === null || context === null) return undefined
    const person = personOf(json)
    if (person.fhirUser === undefined) return undefined
    return chain<PatientAccess | undefined, string | undefined>(patientAccessOf(parts, request, person), (access) => {
      if (mayKeep(access, contextOf(context))) return access.kind === 'own' ? access.relatedTo : undefined
      forget(key, known.get(key))
      return unknown(TokenUnknown())
    })
  }
  /** Keeps the Caller while it is the same: what was compiled for it is found by it. */
  const keep = (key: string, idHash: Buffer, row: TokenRow, relatedTo: string | undefined): Known => {
    const askedAt = clock.monotonic()
    const before = known.get(key)
    if (before !== undefined && before.caller.relatedTo === relatedTo) {
      before.askedAt = askedAt
      return before
    }
    const caller = callerOf(row, idHash, relatedTo)
    const grant = hexOf(row.grant_id)
    const one = { caller, expiresAt: Number(row.expires_at), grant, session: hexOf(row.session_hash), askedAt }
    known.set(key, one)
    return one
  }
  const forgetWhere = (matches: (one: Known) => boolean): void => {
    for (const [key, one] of [...known.entries()]) if (matches(one)) forget(key, one)
  }
  return {
    identify(request) {
      const { authorization } = request.headers
      if (authorization === undefined) return undefined
      const usual = byHeader.get(authorization)
      if (usual !== undefined && isTrusted(usual) && !isOpenRoute(request.route)) return usual.caller
      // On these routes the header authenticates the OAuth client, so it holds no access token.
      if (isOpenRoute(request.route) && request.route !== '/metadata') return undefined
      const token = BEARER.exec(authorization)?.[1]
      if (token === undefined) return /^Bearer\b/i.test(authorization) ? unknown(TokenUnknown()) : undefined
      const idHash = hashOf(token)
      const key = idHash.toString('latin1')
      const before = known.get(key)
      if (before !== undefined && isTrusted(before)) return before.caller
      // A cached token skips the limit on failures, so that guesses from the same address do not lock out its holder.
      const tooMany = before === undefined ? failures?.begin(request) : undefined
      if (tooMany !== undefined) throw tooMany
      return chain(database.get<TokenRow>(findToken, [idHash]), (found) => {
        const row = checkAlive(key, found)
        return chain<string | undefined, Caller>(checkPerson(request, key, row), (patient) => {
          if (before === undefined) failures?.succeeded(request)
          const one = keep(key, idHash, row, patient)
          if (authorization.length === USUAL_HEADER) byHeader.set(authorization, one)
          return one.caller
        })
      })
    },
    forget: (token) => {
      const key = hashOf(token).toString('latin1')
      forget(key, known.get(key))
    },
    forgetGrant: (grantId) => {
      const grant = hexOf(grantId)
      forgetWhere((one) => one.grant === grant)
    },
    forgetSession: (idHash) => {
      const session = hexOf(idHash)
      forgetWhere((one) => one.session === session)
    },
  }
}
