/**
 * Finds the caller of an access token. RFC 6750. What was read of a token is used again as long as the list of changes,
 * which is read each second, has nothing about it; the record of its person is read again after a second. So each server
 * notices a revocation, and what has become of the person.
 */
import type { Caller, Clock, Lifecycle, MemoryBudget, RequestContext, ServerError } from '../../../kernel/index.ts'
import { chain, type Database, type MaybePromise } from '../../database/service.ts'
import type { Resources } from '../../fhir/service.ts'
import type { AuthFailureLimit } from '../../limits/service.ts'
import { BUILT_IN } from '../clients/client.ts'
import { TokenExpired, TokenUnknown } from '../errors.ts'
import { mayKeep, patientAccessOf } from '../people/patient-access.ts'
import { hashTextOf, tokenIdOfText } from '../secret.ts'
import { findToken, type TokenRow } from '../tables.ts'
import { createAccessChanges } from '../tokens/access-changes.ts'
import { isAlive } from '../tokens/access-tokens.ts'
import { readWhenIdle } from '../tokens/read-when-idle.ts'
import { createTokenMemory } from '../tokens/token-memory.ts'
import { isDescription, isOpenRoute } from './require-token.ts'
import { afterReading, callerOf, createTokenHolders, type TokenHolder } from './token-holder.ts'

const USUAL_BYTES = 96 * 2 ** 20 // of what is known of tokens, in 512 MiB: 200,000 of people with a grant of their own, or more
const TRUSTED_MS = 1_000 // spec: a change of the person's record is seen by every server within a second

const SCHEME = 'Bearer '
const STANDARD_LENGTH = SCHEME.length + 43 // characters; 43 of them are 256 bits in base64url
const HOT_BITS = 17
const HOT = 2 ** HOT_BITS // headers that are recognised without hashing them, about 300 bytes each

const BEARER = /^Bearer +([A-Za-z0-9._~+/-]+=*)$/i
const CHALLENGE = { headers: { 'www-authenticate': 'Bearer error="invalid_token"' } }

export interface BearerCallers {
  /**
   * For the hook `authenticate`. Undefined when the request has no access token. Throws 401 for an unknown or expired
   * token, and 429 after too many unknown tokens from one address.
   */
  identify(request: RequestContext): MaybePromise<Caller | undefined>
  /** Lets no token be used before the changes are read again: call it when this server has revoked something. */
  recheck(): void
  readonly lifecycle: Lifecycle
}

/** A caller by the header itself, because hashing takes a tenth of a read. Only memory holds these headers. */
interface Hot {
  readonly authorization: string
  readonly caller: Caller
  readonly holder: TokenHolder
  readonly expiresAt: number
  readonly version: number
}

/** A token that a request has shown. */
interface Shown {
  readonly request: RequestContext
  readonly authorization: string
  /** In hexadecimal. */
  readonly idHash: string
  /** The version of the access changes before the token was read. */
  readonly version: number
}

/** The four characters before the last one, of which the low bits differ most; the last one has four bits only. */
const tagOf = (authorization: string): number => {
  const end = authorization.length
  const [one, two] = [authorization.charCodeAt(end - 2), authorization.charCodeAt(end - 3)]
  const [three, four] = [authorization.charCodeAt(end - 4), authorization.charCodeAt(end - 5)]
  return one + two * 31 + three * 961 + four * 29_791
}

/** A header is in one of two slots, so that most of those that share a slot stay, too. Each slot holds one. */
const firstOf = (tag: number): number => tag & (HOT - 1)
const secondOf = (tag: number): number => Math.imul(tag, 0x9e3779b1) >>> (32 - HOT_BITS)

/** When a token ends by itself, in milliseconds since the epoch. */
const endOf = ({ expires_at, grant_expires_at, session_expires_at }: TokenRow): number =>
  Math.min(Number(expires_at), Number(grant_expires_at ?? expires_at), Number(session_expires_at ?? expires_at))

export interface BearerParts {
  readonly database: Database
  readonly clock: Clock
  readonly memory: MemoryBudget
  readonly failures: AuthFailureLimit | undefined
  readonly resources: Resources
}

export const createBearerCallers = (parts: BearerParts): BearerCallers => {
  const { database, clock, failures } = parts
  const changes = createAccessChanges(database, clock)
  const holders = createTokenHolders()
  const memory = createTokenMemory<TokenHolder>(parts.memory.share(USUAL_BYTES, { least: 8 * 2 ** 20 }))
  const hot: (Hot | undefined)[] = new Array(HOT).fill(undefined)
  /** The tag that last used each first slot. Only a header that comes twice in turn gets one, so that many do not displace each other. */
  const lastTags = new Uint32Array(HOT)
  const recognise = (authorization: string): Hot | undefined => {
    const tag = tagOf(authorization)
    const first = hot[firstOf(tag)]
    if (first !== undefined && first.authorization === authorization) return first
    const second = hot[secondOf(tag)]
    return second !== undefined && second.authorization === authorization ? second : undefined
  }
  const isFreeFor = (place: number, authorization: string): boolean => {
    const holds = hot[place]
    return holds === undefined || holds.authorization === authorization || clock.now() >= holds.expiresAt
  }

  const isPersonTrusted = (holder: TokenHolder): boolean =>
    holder.user === undefined || clock.monotonic() - holder.personReadAt < TRUSTED_MS
  const isTrusted = ({ holder, version, expiresAt }: Hot): boolean =>
    changes.isCurrent() && version === changes.version && clock.now() < expiresAt && isPersonTrusted(holder)
  const unknown = (error: ServerError): never => {
    throw error.with(CHALLENGE)
  }
  /** Throws 401 when the token may not be used any more. */
  const checkAlive = (idHash: string, row: TokenRow | undefined): TokenRow => {
    if (row !== undefined && isAlive(row, clock, BUILT_IN)) return row
    memory.remove(idHash)
    const isExpired = row !== undefined && Number(row.expires_at) <= clock.now()
    return unknown(isExpired ? TokenExpired() : TokenUnknown())
  }
  /**
   * The holder as the record of the person says now, the same object unless the patient of a RelatedPerson has changed.
   * Throws 401 when the person may not use the token any more. A client that acts for itself, and a person without a
   * record, are not waited for.
   */
  const checkPerson = (request: RequestContext, idHash: string, holder: TokenHolder): MaybePromise<TokenHolder> => {
    const { user, isDemo, patient } = holder
    if (user === undefined) return holder
    const readAt = clock.monotonic()
    return patientAccessOf(parts, request, { fhirUser: user, isDemo }).then((access) => {
      if (!mayKeep(access, patient === undefined ? {} : { patient })) {
        memory.remove(idHash)
        return unknown(TokenUnknown())
      }
      return afterReading(holder, access.kind === 'own' ? access.relatedTo : undefined, readAt)
    })
  }
  const give = ({ authorization, idHash, version }: Shown, holder: TokenHolder, expiresAt: number): Caller => {
    const caller = callerOf(holder, tokenIdOfText(idHash), expiresAt)
    if (authorization.length !== STANDARD_LENGTH) return caller
    const tag = tagOf(authorization)
    const [first, second] = [firstOf(tag), secondOf(tag)]
    if (lastTags[first] === tag) {
      const place = !isFreeFor(first, authorization) && isFreeFor(second, authorization) ? second : first
      hot[place] = { authorization, caller, holder, expiresAt, version }
    } else lastTags[first] = tag
    return caller
  }
  const keep = (shown: Shown, holder: TokenHolder, expiresAt: number): Caller => {
    memory.put(shown.idHash, { value: holder, expiresAt, version: shown.version })
    return give(shown, holder, expiresAt)
  }
  /** True when nothing has changed about the token since it was read; `memory` has just found it. */
  const isUnchanged = ({ idHash, version }: Shown): boolean => {
    if (clock.now() >= memory.expiresAt()) return false
    if (memory.version() === version) return true
    const { client, grant, session } = memory.value()
    return !changes.mayConcern(memory.version(), { token: idHash, client, grant, session })
  }
  const read = (shown: Shown, isKnown: boolean): MaybePromise<Caller> => {
    const { request, idHash } = shown
    // A known token skips the limit on failures, so that guesses from the same address do not lock out its holder.
    const tooMany = isKnown ? undefined : failures?.begin(request)
    if (tooMany !== undefined) throw tooMany
    return chain(database.get<TokenRow>(findToken, [Buffer.from(idHash, 'hex')]), (found) => {
      const row = checkAlive(idHash, found)
      return chain<TokenHolder, Caller>(checkPerson(request, idHash, holders.ofRow(row)), (holder) => {
        if (!isKnown) failures?.succeeded(request)
        return keep(shown, holder, endOf(row))
      })
    })
  }
  const find = (shown: Shown): MaybePromise<Caller> => {
    const isKnown = memory.find(shown.idHash)
    if (!isKnown || !isUnchanged(shown)) return read(shown, isKnown)
    const holder = memory.value()
    const expiresAt = memory.expiresAt()
    if (isPersonTrusted(holder))
      return memory.version() === shown.version ? give(shown, holder, expiresAt) : keep(shown, holder, expiresAt)
    return chain(checkPerson(shown.request, shown.idHash, holder), (now) => keep(shown, now, expiresAt))
  }
  return {
    identify(request) {
      const { authorization } = request.headers
      if (authorization === undefined) return undefined
      const isOpen = isOpenRoute(request.route)
      const isStandard = authorization.length === STANDARD_LENGTH && authorization.startsWith(SCHEME)
      const recognised = isStandard ? recognise(authorization) : undefined
      if (recognised !== undefined && !isOpen && isTrusted(recognised)) return recognised.caller
      // On these routes the header authenticates the OAuth client, so it holds no access token.
      if (isOpen && !isDescription(request.route)) return undefined
      const token = isStandard ? authorization.slice(SCHEME.length) : BEARER.exec(authorization)?.[1]
      if (token === undefined) return /^Bearer\b/i.test(authorization) ? unknown(TokenUnknown()) : undefined
      const idHash = hashTextOf(token)
      return chain<number, Caller>(changes.read(), (version) => find({ request, authorization, idHash, version }))
    },
    recheck: changes.expire,
    lifecycle: readWhenIdle(database, clock, changes),
  }
}
