/** Stores and finds clients. The built-in client is not in the database. */
import type { Clock } from '../../../kernel/index.ts'
import type { Database, Transaction } from '../../database/service.ts'
import { ClientTaken, NoSuchClient } from '../errors.ts'
import { hashOf, newSecret } from '../secret.ts'
import { type ClientRow, disableClient, findClient, insertClient } from '../tables.ts'
import { REVOKED } from '../tokens/revoked.ts'
import { BUILT_IN, type Client, type ClientMetadata } from './client.ts'

export const clientOfRow = ({ client_id, metadata, secret_hash, created_at, disabled_at }: ClientRow): Client => ({
  id: client_id,
  metadata: JSON.parse(metadata) as ClientMetadata,
  secretHash: secret_hash ?? undefined,
  createdAt: Number(created_at),
  disabledAt: disabled_at === null ? undefined : Number(disabled_at),
})

export interface NewClient {
  readonly id: string
  /**
   * The secret of a client that authenticates with one, else undefined. Only its hash is stored, so it is shown once.
   */
  readonly secret: string | undefined
}

/** Stores a client. Throws `ClientTaken` when the id is in use. */
export const addClient = async (
  transaction: Transaction,
  { id, metadata, now }: { readonly id: string; readonly metadata: ClientMetadata; readonly now: number },
): Promise<NewClient> => {
  if (id === BUILT_IN || (await transaction.get(findClient, [id])) !== undefined) throw ClientTaken(id)
  const secret = metadata.token_endpoint_auth_method === 'client_secret_basic' ? newSecret() : undefined
  const secretHash = secret === undefined ? null : hashOf(secret)
  await transaction.run(insertClient, [id, JSON.stringify(metadata), secretHash, metadata.scope ?? null, now, null])
  return { id, secret }
}

/** Disables a client: from now on its tokens are refused. The time of an earlier call is kept. Throws `NoSuchClient`. */
export const removeClient = async (transaction: Transaction, id: string, now: number): Promise<void> => {
  if ((await transaction.get(findClient, [id])) === undefined) throw NoSuchClient(id)
  transaction.publish(REVOKED)
  await transaction.run(disableClient, [now, id])
}

/** As large as the row of most clients. */
const NO_CLIENT: ClientRow = {
  client_id: '',
  metadata: JSON.stringify({
    client_name: 'A client that is not registered here',
    redirect_uris: ['https://app.example.org/callback'],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'client_secret_basic',
  }),
  ...{ secret_hash: null, scope: null, created_at: 0, disabled_at: 0 },
}

/** Ids reach this from assertions and Basic headers as well. No other text is looked up: PostgreSQL refuses U+0000. */
const ID = /^[\x21-\x7e]{1,64}$/

export interface Clients {
  /** Undefined for an unknown or disabled client. */
  find(id: string): Promise<Client | undefined>
  /** The same with disabled clients. Undefined for an unknown one. */
  findRegistered(id: string): Promise<Client | undefined>
  register(id: string, metadata: ClientMetadata): Promise<NewClient & { readonly createdAt: number }>
}

export const createClients = (database: Database, clock: Clock, builtIn: Client): Clients => {
  const findRegistered = async (id: string): Promise<Client | undefined> => {
    if (id === BUILT_IN) return builtIn
    if (!ID.test(id)) return undefined
    // For an unknown client another row is parsed, so that the time taken does not reveal which clients exist.
    const row = await database.get<ClientRow>(findClient, [id])
    const client = clientOfRow(row ?? NO_CLIENT)
    return row === undefined ? undefined : client
  }
  return {
    async find(id) {
      const client = await findRegistered(id)
      return client?.disabledAt === undefined ? client : undefined
    },
    findRegistered,
    async register(id, metadata) {
      const now = clock.now()
      const added = await database.transact((transaction) => addClient(transaction, { id, metadata, now }))
      return { ...added, createdAt: now }
    },
  }
}
