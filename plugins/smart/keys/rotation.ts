/**
 * Signing keys in the database. The active one signs. The next one is published in advance, so that clients know it
 * when it begins to sign. Retired ones stay published until what they have signed has expired.
 */
import type { Clock, Random } from '../../../kernel/index.ts'
import type { Database, Transaction } from '../../database/service.ts'
import { KeysMissing, KeyTooNew } from '../errors.ts'
import { addPendingAuditEvent } from '../pending-audit-events.ts'
import { changeKeyState, deleteRetiredKeys, insertKey, type KeyRow, listKeys, resealKey } from '../tables.ts'
import { isSealed, seal, unseal } from './seal.ts'
import { ALG, generateSigningKey } from './signing-key.ts'

/** How long clients may cache the published keys. */
export const JWKS_SECONDS = 600
/** How often each server reads the keys from the database again. */
export const RELOAD_MS = 60_000
const KNOWN_MS = JWKS_SECONDS * 1000 + RELOAD_MS // until every client knows a key that was stored
const RETIRED_MS = 24 * 3_600_000 // longer than any ID token is valid

const LOCK = 'smart.keys'

export interface KeyParts {
  readonly database: Database
  readonly passphrase: string | undefined
  readonly clock: Clock
}

const newKey = async (passphrase: string | undefined): Promise<{ kid: string; sealed: Buffer }> => {
  const { kid, pkcs8 } = await generateSigningKey()
  return { kid, sealed: await seal(pkcs8, kid, passphrase) }
}

const stateOf = (rows: readonly KeyRow[], state: KeyRow['state']): KeyRow | undefined =>
  rows.find((row) => row.state === state)

/**
 * Creates the active key and the next one where they are missing. Safe when several servers do so at once: a lock is
 * held while they are stored.
 */
export const makeMissingKeys = async ({ database, passphrase, clock }: KeyParts): Promise<void> => {
  const rows = await database.all<KeyRow>(listKeys, [])
  const missing = (['active', 'next'] as const).filter((state) => stateOf(rows, state) === undefined)
  if (missing.length === 0) return
  const made = await Promise.all(missing.map(async (state) => ({ state, ...(await newKey(passphrase)) })))
  await database.transact(async (transaction) => {
    await transaction.hold(LOCK)
    const now = await transaction.all<KeyRow>(listKeys, [])
    for (const { state, kid, sealed } of made)
      if (stateOf(now, state) === undefined) await transaction.run(insertKey, [kid, ALG, sealed, state, clock.now()])
  })
}

/** Reads all keys. Given a passphrase, encrypts those that are stored unencrypted. Throws what `unseal` throws. */
export const readKeys = async ({
  database,
  passphrase,
}: KeyParts): Promise<readonly { readonly row: KeyRow; readonly pkcs8: Buffer }[]> => {
  const rows = await database.all<KeyRow>(listKeys, [])
  const read = await Promise.all(
    rows.map(async (row) => ({ row, pkcs8: await unseal(row.sealed, row.kid, passphrase) })),
  )
  const open = passphrase === undefined ? [] : read.filter(({ row }) => !isSealed(row.sealed))
  if (open.length > 0) {
    const sealed = await Promise.all(
      open.map(async ({ row: { kid }, pkcs8 }) => ({ kid, bytes: await seal(pkcs8, kid, passphrase) })),
    )
    await database.transact(async (transaction) => {
      for (const { kid, bytes } of sealed) await transaction.run(resealKey, [bytes, kid])
    })
  }
  return read
}

/** Removes retired keys that are not published any more. */
export const pruneKeys = async ({ database, clock }: Pick<KeyParts, 'database' | 'clock'>): Promise<void> =>
  database.transact((transaction) => transaction.run(deleteRetiredKeys, [clock.now()]))

export interface Rotated {
  readonly retired: string
  readonly active: string
  readonly next: string
}

const change = async (
  transaction: Transaction,
  next: { kid: string; sealed: Buffer },
  now: number,
  isForced: boolean,
): Promise<Rotated> => {
  await transaction.hold(LOCK)
  const rows = await transaction.all<KeyRow>(listKeys, [])
  const active = stateOf(rows, 'active')
  const follower = stateOf(rows, 'next')
  if (active === undefined || follower === undefined) throw KeysMissing()
  const left = follower.created_at + KNOWN_MS - now
  if (left > 0 && !isForced) throw KeyTooNew(Math.ceil(left / 1000))
  await transaction.run(changeKeyState, ['retired', now + RETIRED_MS, active.kid])
  await transaction.run(changeKeyState, ['active', null, follower.kid])
  await transaction.run(insertKey, [next.kid, ALG, next.sealed, 'next', now])
  return { retired: active.kid, active: follower.kid, next: next.kid }
}

/**
 * Makes the next key the active one, and creates a new next one. Throws `KeyTooNew` while clients may not know the next
 * key yet, unless `isForced`. Also throws what `unseal` throws, because servers could not read a new key that is
 * encrypted with another passphrase than theirs.
 */
export const rotateKeys = async (
  parts: KeyParts & { readonly random: Random; readonly isForced: boolean },
): Promise<Rotated> => {
  const { database, passphrase, clock, random, isForced } = parts
  await readKeys(parts)
  const next = await newKey(passphrase)
  return database.transact(async (transaction) => {
    const rotated = await change(transaction, next, clock.now(), isForced)
    await addPendingAuditEvent(transaction, { id: random.id(), operation: 'key-rotation', client: undefined })
    return rotated
  })
}
