/**
 * What requests need to know of a token, but for what differs between the tokens of a client with the same scopes. It is
 * flat, because there may be hundreds of thousands.
 */
import { LRUCache } from 'lru-cache'
import type { Caller } from '../../../kernel/index.ts'
import { contextOf } from '../grants/launch-context.ts'
import { personOf } from '../people/person.ts'
import type { TokenRow } from '../tables.ts'
import type { KnownValue } from '../tokens/token-memory.ts'

const MAX_SHARED = 2_000 // lists of scopes, and clients with a list of scopes

export interface TokenHolder extends KnownValue {
  readonly client: string
  readonly scopes: readonly string[]
  readonly isPerson: boolean
  /** FHIR reference of the person, and whether the login was a demo one. */
  readonly user: string | undefined
  readonly isDemo: boolean
  readonly relatedTo: string | undefined
  /** Of the launch: ids of a Patient and of an Encounter. */
  readonly patient: string | undefined
  readonly encounter: string | undefined
  /** Ids of the grant and of the session that the token depends on, a character for each byte. */
  readonly grant: string | undefined
  readonly session: string | undefined
  /** Monotonic time before the person's record was last read, in milliseconds. */
  personReadAt: number
}

export interface TokenHolders {
  /** Of a row whose person has still to be checked. */
  ofRow(row: TokenRow): TokenHolder
}

// What V8 takes for a holder, for a text without its characters, and for a text in a list.
const HOLDER_BYTES = 136
const TEXT_BYTES = 24
const LISTED_BYTES = 40

/** A character for each byte. */
const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1')

const bytesOf = (texts: readonly (string | undefined)[]): number =>
  texts.reduce((sum, text) => sum + (text === undefined ? 0 : TEXT_BYTES + text.length), 0)

/** The same, once the person's record has been read; `relatedTo` is the patient of a RelatedPerson. */
export const afterReading = (holder: TokenHolder, relatedTo: string | undefined, readAt: number): TokenHolder => {
  if (holder.relatedTo !== relatedTo) return { ...holder, relatedTo, personReadAt: readAt }
  holder.personReadAt = readAt
  return holder
}

/** The caller that a token stands for. `expiresAt`: milliseconds since the epoch. */
export const callerOf = (holder: TokenHolder, tokenId: string, expiresAt: number): Caller => {
  const { client, scopes, isPerson, user, relatedTo, patient, encounter } = holder
  if (!isPerson) return Object.freeze({ kind: 'client', client, scopes, tokenId, expiresAt })
  return Object.freeze({
    ...{ kind: 'user' as const, client, scopes, tokenId, expiresAt },
    ...(user !== undefined && { user }),
    ...(relatedTo !== undefined && { relatedTo }),
    launch: Object.freeze({ ...(patient !== undefined && { patient }), ...(encounter !== undefined && { encounter }) }),
  })
}

export const createTokenHolders = (): TokenHolders => {
  const scopeLists = new LRUCache<string, readonly string[]>({ max: MAX_SHARED })
  const services = new LRUCache<string, TokenHolder>({ max: MAX_SHARED })

  /** The list, and how many bytes it takes that no other has. */
  const scopesOf = (text: string): { readonly scopes: readonly string[]; readonly listBytes: number } => {
    const known = scopeLists.get(text)
    if (known !== undefined) return { scopes: known, listBytes: 0 }
    const scopes = Object.freeze(text.split(' '))
    scopeLists.set(text, scopes)
    return { scopes, listBytes: text.length + scopes.length * LISTED_BYTES }
  }
  const make = (row: TokenRow): TokenHolder => {
    const { client_id: client, person: personJson, context } = row
    const { scopes, listBytes } = scopesOf(row.scope)
    const isPerson = personJson !== null && context !== null
    const person = isPerson ? personOf(personJson) : undefined
    const { patient, encounter } = isPerson ? contextOf(context) : {}
    const user = person?.fhirUser
    const grant = row.grant_id === null ? undefined : textOf(row.grant_id)
    const session = row.session_hash === null ? undefined : textOf(row.session_hash)
    return {
      ...{ client, scopes, isPerson, user, isDemo: person?.isDemo === true, relatedTo: undefined },
      ...{ patient, encounter, grant, session },
      personReadAt: Number.NEGATIVE_INFINITY,
      bytes: HOLDER_BYTES + listBytes + bytesOf([client, user, patient, encounter, grant, session]),
    }
  }
  return {
    ofRow(row) {
      if (row.grant_id !== null) return make(row)
      const key = `${row.client_id}\n${row.scope}`
      const known = services.get(key)
      if (known !== undefined) return known
      const one = make(row)
      // Only the first token counts what all of them share.
      services.set(key, { ...one, bytes: 0 })
      return one
    },
  }
}
