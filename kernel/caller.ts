/** Who makes a request. */
/** The caller of a request. Without a token only its address is known. Spec: Authentication 8. */
export interface Caller {
  /** `anonymous` when no plugin recognised a caller. */
  readonly kind: 'anonymous' | 'client' | 'user' | 'internal'
  readonly client?: string
  /** FHIR reference of the user, e.g. `Practitioner/p1`. */
  readonly user?: string
  readonly scopes?: readonly string[]
  /** Identifies the token (its `jti`), never the token itself. */
  readonly tokenId?: string
  /** What the token is about: ids of a Patient and of an Encounter. */
  readonly launch?: { readonly patient?: string; readonly encounter?: string }
  /** Of a user who is a RelatedPerson: id of the Patient whom that person belongs to. */
  readonly relatedTo?: string
  /** When the token ends by itself, in milliseconds since the epoch, where that is known. */
  readonly expiresAt?: number
}

export const ANONYMOUS: Caller = Object.freeze({ kind: 'anonymous' })
