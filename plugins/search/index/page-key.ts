/** The keys that page links are sealed with, made from the key of the database. */
import { createSecretKey, hkdfSync, type KeyObject } from 'node:crypto'

const KEY_BYTES = 32

export interface PageKey {
  readonly cipher: KeyObject
  /** For nonces and owners. */
  readonly mac: KeyObject
}

const derive = (secret: string, purpose: string): KeyObject =>
  createSecretKey(Buffer.from(hkdfSync('sha256', secret, '', `refhir page ${purpose}`, KEY_BYTES)))

/** RFC 5869. `secret` is the key of the database. */
export const toPageKey = (secret: string): PageKey => ({ cipher: derive(secret, 'cipher'), mac: derive(secret, 'mac') })
