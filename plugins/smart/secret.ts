/** Secrets: 256 bits of chance, kept as a hash, compared without telling by time where they differ. */
import { hash, randomBytes, timingSafeEqual } from 'node:crypto'

const BYTES = 32

/** 43 characters of base64url. */
export const newSecret = (): string => randomBytes(BYTES).toString('base64url')

/** SHA-256. A secret of 256 bits needs no slow hash: nobody can try them all. */
export const hashOf = (secret: string): Buffer => hash('sha256', secret, 'buffer')

export const isSameHash = (one: Uint8Array, other: Uint8Array): boolean =>
  one.length === other.length && timingSafeEqual(one, other)

const NAME_BYTES = 16

/** A name for a token in the trail, which does not tell the token. */
export const tokenIdOf = (idHash: Buffer): string => idHash.toString('hex', 0, NAME_BYTES)
