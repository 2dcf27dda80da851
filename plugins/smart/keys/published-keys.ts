/** The keys that clients are shown, read again now and then: another server, or a command, may have rotated them. */
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
  /** Makes what is missing. Rejects where a stored key cannot be read. */
  start(): Promise<void>
  stop(): Promise<void>
  /** RFC 7517, section 5. */
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
  /** By id: a key is read once, because unsealing it is made to take long. */
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
