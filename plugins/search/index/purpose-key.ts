/** Keys that all servers of a database have, and nobody else. */
import { hkdfSync } from 'node:crypto'

const KEY_BYTES = 32

/** A key for one purpose, by HKDF (RFC 5869). `secret` is the one in the settings of the database. */
export const toPurposeKey = (secret: string, purpose: string): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, '', `refhir ${purpose}`, KEY_BYTES))
