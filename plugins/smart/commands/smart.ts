/**
 * `server smart keys list|rotate` and `server smart clients list|add|disable`: reads and changes the database that the
 * server would open. Servers on PostgreSQL keep running and see a change within a minute; a change of a SQLite file
 * needs a file that no server has open. Prints JSON lines. Exit codes: 0 done, 1 refused, 2 wrong arguments, or the
 * database cannot be opened.
 */
import { readFile } from 'node:fs/promises'
import { Args, Command, Flags } from '@oclif/core'
import {
  type CommandContext,
  commandContext,
  isServerError,
  type Kernel,
  systemClock,
  systemRandom,
} from '../../../kernel/index.ts'
import { Database, isOpenElsewhere, lookForDatabase, type ThreadReader } from '../../database/service.ts'
import { readClientMetadata } from '../clients/client-metadata.ts'
import { addClient, clientOfRow, removeClient } from '../clients/clients.ts'
import { SecretNeedsTerminal } from '../errors.ts'
import { rotateKeys } from '../keys/rotation.ts'
import { isSealed } from '../keys/seal.ts'
import { addPendingAuditEvent } from '../pending-audit-events.ts'
import { type ClientRow, type KeyRow, listClients, listKeys } from '../tables.ts'

const REFUSED = 1
const UNREADABLE = 2

const timeOf = (ms: number | null | undefined): string | undefined =>
  ms === null || ms === undefined ? undefined : new Date(Number(ms)).toISOString()

const keyLines = async (reader: ThreadReader): Promise<readonly object[]> =>
  (await reader.all<KeyRow>(listKeys, [])).map(({ kid, alg, state, sealed, created_at, retire_at }) => ({
    kid,
    alg,
    state,
    encrypted: isSealed(sealed),
    created: timeOf(created_at),
    retires: timeOf(retire_at),
  }))

const clientLines = async (reader: ThreadReader): Promise<readonly object[]> =>
  (await reader.all<ClientRow>(listClients, [])).map(clientOfRow).map(({ id, metadata, createdAt, disabledAt }) => ({
    client_id: id,
    client_name: metadata.client_name,
    token_endpoint_auth_method: metadata.token_endpoint_auth_method,
    grant_types: metadata.grant_types,
    scope: metadata.scope,
    created: timeOf(createdAt),
    disabled: timeOf(disabledAt),
  }))

const ACTIONS: ReadonlyMap<string, readonly string[]> = new Map([
  ['keys', ['list', 'rotate']],
  ['clients', ['list', 'add', 'disable']],
])

export default class Smart extends Command {
  static override summary = 'Lists and rotates the signing keys; lists, adds and disables clients.'
  static override args = {
    what: Args.string({ required: true, options: [...ACTIONS.keys()], description: 'Keys or clients.' }),
    action: Args.string({
      required: true,
      options: [...new Set([...ACTIONS.values()].flat())],
      description: 'What to do.',
    }),
    client: Args.string({ description: 'Id of the client to disable.' }),
  }
  static override flags = {
    force: Flags.boolean({
      description: 'Rotate at once: clients that keep the keys refuse tokens for up to ten minutes.',
    }),
    name: Flags.string({ description: 'Name of the client, shown to people.' }),
    scope: Flags.string({ description: 'Scopes that the client may have, separated by spaces.' }),
    jwks: Flags.string({ description: 'File with the public keys of a backend service, a JWK Set.' }),
    'jwks-uri': Flags.string({ description: 'https URL of the public keys of a backend service.' }),
    'redirect-uri': Flags.string({ multiple: true, description: 'Where an application gets its codes.' }),
    public: Flags.boolean({ description: 'The application keeps no secret: it runs in a browser or on a phone.' }),
    native: Flags.boolean({ description: 'The application is installed on a device.' }),
  }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(Smart)
    const context = commandContext(this)
    const fail = (message: string, code: number): never => {
      context.stderr.write(`server: ${message}\n`)
      return this.exit(code)
    }
    const actions = ACTIONS.get(args.what) ?? []
    if (!actions.includes(args.action)) fail(`server smart ${args.what} takes ${actions.join(', ')}`, UNREADABLE)
    if ((args.action === 'disable') !== (args.client !== undefined))
      fail('server smart clients disable takes the id of a client, and nothing else does', UNREADABLE)
    const print = (lines: readonly object[]): void => {
      for (const line of lines) context.stdout.write(`${JSON.stringify(line)}\n`)
    }
    const database = await this.#open(context, args.action !== 'list', fail)
    try {
      if (args.action === 'list')
        print(await database.get(Database).readOnly(args.what === 'keys' ? keyLines : clientLines))
      else if (args.action === 'rotate') print([await this.#rotate(context, database, flags.force)])
      else if (args.action === 'disable') await this.#disable(database, args.client as string)
      else print([await this.#add(context, database, await this.#metadataOf(flags))])
    } catch (error) {
      if (!isServerError(error) && (error as { code?: string }).code === undefined) throw error
      fail((error as Error).message, REFUSED)
    } finally {
      await database.stop()
    }
  }

  /** Creates a kernel with only the plugin `database`, and starts it when the action is a change. */
  async #open(
    { settings, kernel }: CommandContext,
    isChange: boolean,
    fail: (message: string, code: number) => never,
  ): Promise<Kernel> {
    const section = settings().section('database') as { kind: string; sqlite_path: string }
    if (section.kind === 'memory')
      fail('a database in memory has no keys and clients; give --sqlite or --postgres', UNREADABLE)
    try {
      const made = await kernel({ only: ['database'], log: { level: 'silent' } })
      await lookForDatabase({ ...section }, made.log)
      if (!isChange) return made
      if (section.kind === 'sqlite' && (await isOpenElsewhere(section.sqlite_path)))
        fail(`another process has ${section.sqlite_path} open; stop that server first`, REFUSED)
      await made.start()
      return made
    } catch (error) {
      if (!isServerError(error)) throw error
      return fail(error.message, UNREADABLE)
    }
  }

  #rotate({ settings }: CommandContext, kernel: Kernel, isForced: boolean): Promise<object> {
    const { signing_key_passphrase: passphrase } = settings().section('smart') as { signing_key_passphrase?: string }
    return rotateKeys({
      database: kernel.get(Database),
      passphrase,
      clock: systemClock,
      random: systemRandom,
      isForced,
    })
  }

  async #metadataOf(flags: {
    readonly name?: string | undefined
    readonly scope?: string | undefined
    readonly jwks?: string | undefined
    readonly 'jwks-uri'?: string | undefined
    readonly 'redirect-uri'?: string[] | undefined
    readonly public: boolean
    readonly native: boolean
  }): Promise<object> {
    const { name, scope, jwks, 'jwks-uri': jwksUri, 'redirect-uri': redirectUris } = flags
    const isService = jwks !== undefined || jwksUri !== undefined
    const grants = [
      ...(isService ? ['client_credentials'] : []),
      ...(redirectUris !== undefined || !isService ? ['authorization_code', 'refresh_token'] : []),
    ]
    return {
      ...(name !== undefined && { client_name: name }),
      ...(scope !== undefined && { scope }),
      ...(jwks !== undefined && { jwks: JSON.parse(await readFile(jwks, 'utf8')) as object }),
      ...(jwksUri !== undefined && { jwks_uri: jwksUri }),
      ...(redirectUris !== undefined && { redirect_uris: redirectUris }),
      ...(flags.native && { application_type: 'native' }),
      grant_types: grants,
      token_endpoint_auth_method: flags.public ? 'none' : isService ? 'private_key_jwt' : 'client_secret_basic',
    }
  }

  async #add({ settings, stderr }: CommandContext, kernel: Kernel, given: object): Promise<object> {
    const { inside_jwks_hosts: insideHosts } = settings().section('smart') as { inside_jwks_hosts: string[] }
    const metadata = readClientMetadata(given, new Set(insideHosts))
    // Checked before the client is stored: its secret could not be shown later.
    if (metadata.token_endpoint_auth_method === 'client_secret_basic' && stderr.isTTY !== true)
      throw SecretNeedsTerminal()
    const { id, secret } = await kernel.get(Database).transact(async (transaction) => {
      const client = systemRandom.id()
      const added = await addClient(transaction, { id: client, metadata, now: systemClock.now() })
      await addPendingAuditEvent(transaction, { id: systemRandom.id(), operation: 'client-add', client })
      return added
    })
    if (secret !== undefined) stderr.write(`client_secret, shown once: ${secret}\n`)
    return { client_id: id, ...metadata }
  }

  #disable(kernel: Kernel, client: string): Promise<void> {
    return kernel.get(Database).transact(async (transaction) => {
      await removeClient(transaction, client, systemClock.now())
      await addPendingAuditEvent(transaction, { id: systemRandom.id(), operation: 'client-disable', client })
    })
  }
}
