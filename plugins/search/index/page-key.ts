/** The keys that encrypt page tokens, derived from the secret of the database. */
import { createSecretKey, hkdfSync, type KeyObject } from 'node:crypto'

const KEY_BYTES = 32

export interface PageKey {
  readonly cipher: KeyObject
  /** Key of the HMACs that make nonces and identify the owner of a token. */
  readonly mac: KeyObject
}

const derive = (secret: string, purpose: string): KeyObject =>
  createSecretKey(Buffer.from(hkdfSync('sha256', secret, '', `refhir page ${purpose}`, KEY_BYTES)))

/** Derives both keys with HKDF (RFC 5869). `secret` is the one in the settings of the database. */
export const toPageKey = (secret: string): PageKey => ({ cipher: derive(secret, 'cipher'), mac: derive(secret, 'mac') })
