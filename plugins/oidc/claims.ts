/**
 * What the provider says about a person: the claims of the ID token, and those of the UserInfo endpoint where the
 * settings ask for a claim that the ID token lacks. The ID token comes first.
 */
export type Claims = Readonly<Record<string, unknown>>

export interface PersonClaims {
  readonly sources: readonly Claims[]
}

/** True for a claim with a value. Names come from settings, so `constructor` is not one. */
export const hasClaim = (claims: Claims, name: string): boolean =>
  Object.hasOwn(claims, name) && claims[name] !== undefined && claims[name] !== null

/** The value in the first source that has the claim. */
export const claimOf = ({ sources }: PersonClaims, name: string): unknown =>
  sources.find((source) => hasClaim(source, name))?.[name]
