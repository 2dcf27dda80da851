/**
 * The public keys that clients may fetch. They are read from the database again every minute, because another server or
 * a command may have rotated them.
 */
import { type Clock, every, type Logger, type Repeating } from '../../../kernel/index.ts'
import type { Database } from '../../database/service.ts'
import { type KeyRow, listKeys } from '../tables.ts'
import { makeMissingKeys, pruneKeys, RELOAD_MS, readKeys } from './rotation.ts'
import { type PublicJwk, publicJwkOf } from './signing-key.ts'

interface Published {
  readonly jwk: PublicJwk
  readonly retireAt: number | null
}

export interface PublishedKeys {
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
  /** Public keys by id. Stored keys are decrypted only when a new one appears, because that is slow on purpose. */
  let known: ReadonlyMap<string, PublicJwk> = new Map()
  let published: readonly Published[] = []
  let repeating: Repeating | undefined

  const readAll = async (): Promise<void> => {
    const read = await readKeys(parts)
    known = new Map(read.map(({ row: { kid }, pkcs8 }) => [kid, publicJwkOf(pkcs8, kid)]))
  }
  const reload = async (): Promise<void> => {
    const rows = await database.all<KeyRow>(listKeys, [])
    if (rows.some(({ retire_at }) => retire_at !== null && retire_at <= clock.now())) await pruneKeys(parts)
    if (rows.some(({ kid }) => !known.has(kid))) await readAll()
    published = rows.flatMap(({ kid, retire_at: retireAt }) => {
      const jwk = known.get(kid)
      return jwk === undefined ? [] : [{ jwk, retireAt }]
    })
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
    jwks() {
      const now = clock.now()
      return { keys: published.filter(({ retireAt }) => retireAt === null || retireAt > now).map(({ jwk }) => jwk) }
    },
  }
}
