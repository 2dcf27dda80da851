/**
 * The public keys that clients may fetch, and the private one that signs. They are read from the database again every minute, because another server or
 * a command may have rotated them.
 */

import { createPrivateKey, type KeyObject } from 'node:crypto'
import { type Clock, every, type Logger, type Repeating } from '../../../kernel/index.ts'
import type { Database } from '../../database/service.ts'
import { KeysMissing } from '../errors.ts'
import { type KeyRow, listKeys } from '../tables.ts'
import { makeMissingKeys, pruneKeys, RELOAD_MS, readKeys } from './rotation.ts'
import { ALG, type PublicJwk, publicJwkOf } from './signing-key.ts'

interface Published {
  readonly jwk: PublicJwk
  readonly retireAt: number | null
}

/** Signs ID tokens. */
export interface IdTokenSigner {
  /** The JWT of these claims, signed with the active key. Throws `KeysMissing` before the start. */
  sign(claims: Readonly<Record<string, unknown>>): Promise<string>
}

interface Known {
  readonly jwk: PublicJwk
  readonly privateKey: KeyObject
}

export interface PublishedKeys extends IdTokenSigner {
  /** Creates missing keys. Rejects when a stored key cannot be read. */
  start(): Promise<void>
  stop(): Promise<void>
  /** The JWK Set, RFC 7517, section 5. Retired keys are left out once they have reached `retire_at`. */
  jwks(): { readonly keys: readonly PublicJwk[] }
}

export interface PublishedKeysParts {
  readonly database: Database
  readonly passphrase: string | undefined
  readonly clock: Clock
  readonly log: Logger
}

export const createPublishedKeys = (parts: PublishedKeysParts): PublishedKeys => {
  const { database, passphrase, clock, log } = parts
  /** Keys by id. Stored keys are decrypted only when a new one appears, because that is slow on purpose. */
  let known: ReadonlyMap<string, Known> = new Map()
  let published: readonly Published[] = []
  /** Id of the key that signs. */
  let active: string | undefined
  let repeating: Repeating | undefined

  const readAll = async (): Promise<void> => {
    const read = await readKeys(parts)
    known = new Map(
      read.map(({ row: { kid }, pkcs8 }) => [
        kid,
        {
          jwk: publicJwkOf(pkcs8, kid),
          privateKey: createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' }),
        },
      ]),
    )
  }
  const reload = async (): Promise<void> => {
    const rows = await database.all<KeyRow>(listKeys, [])
    if (rows.some(({ retire_at }) => retire_at !== null && retire_at <= clock.now())) await pruneKeys(parts)
    if (rows.some(({ kid }) => !known.has(kid))) await readAll()
    published = rows.flatMap(({ kid, retire_at: retireAt }) => {
      const key = known.get(kid)
      return key === undefined ? [] : [{ jwk: key.jwk, retireAt }]
    })
    active = rows.find(({ state }) => state === 'active')?.kid
  }
  const onError = (error: unknown): void => log.error({ err: error }, 'the signing keys could not be read again')
  return {
    async start() {
      if (passphrase === undefined)
        log.warn('SERVER_SIGNING_KEY_PASSPHRASE is not set: the signing keys are stored unencrypted')
      await makeMissingKeys(parts)
      await reload()
      repeating = every(clock, RELOAD_MS, reload, onError)
    },
    stop: async () => repeating?.stop(),
    async sign(claims) {
      const key = known.get(active ?? '')
      if (key === undefined) throw KeysMissing()
      const { SignJWT } = await import('jose')
      return new SignJWT({ ...claims })
        .setProtectedHeader({ alg: ALG, kid: key.jwk.kid, typ: 'JWT' })
        .sign(key.privateKey)
    },
    jwks() {
      const now = clock.now()
      return { keys: published.filter(({ retireAt }) => retireAt === null || retireAt > now).map(({ jwk }) => jwk) }
    },
  }
}
