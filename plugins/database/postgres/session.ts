/**
 * pg's Client on a stream that is already open and encrypted as the connection string requires. pg itself opens no
 * connection and reads no environment variable and no password file: all of its options are given here.
 */
import { EventEmitter } from 'node:events'
import pg from 'pg'
import type { Conninfo } from './conninfo.ts'
import type { Route, Stream } from './dial.ts'
import { PasswordMissing } from './errors.ts'
import { createExchanges, type Exchanges } from './exchange.ts'
import { createFrames } from './frames.ts'
import type { ReplyHandler } from './group-answers.ts'
import { EXCHANGED } from './message-types.ts'
import { parserOf } from './values.ts'

/**
 * Limits of a session, sent with the startup message, so that they hold for every statement. Milliseconds; 0 means the
 * server's setting.
 */
export interface SessionLimits {
  readonly statementTimeoutMs: number
  readonly lockTimeoutMs: number
  /** The server ends a transaction that a stopped process left open after this time, which releases its locks. */
  readonly idleInTransactionMs: number
  /** Turns synchronous_commit on, where the server has it off. */
  readonly synchronousCommit?: boolean
  /** The server notices within seconds when the process is gone or cut off, and ends the session. */
  readonly endsEarly?: boolean
}

// Internals of pg that its types leave out.
interface Wire {
  _connecting: boolean
  _ending: boolean
  attachListeners(stream: unknown): void
}

/**
 * Every statement of ours has an index to use. For a prepared statement PostgreSQL may make a generic plan, or misjudge
 * how soon a LIMIT is reached, and then scan a whole table: so a sequential scan is used only where no index fits. JIT
 * compilation takes longer than any of our statements should.
 */
const PLANNING = Object.freeze({ enable_seqscan: 'off', jit: 'off' })

/**
 * Transactions lock and then read what others have committed meanwhile, whatever the database and the role have as their default.
 * Those that need one snapshot ask for it.
 */
const ISOLATION = Object.freeze({ default_transaction_isolation: 'read committed' })

// Of the server's side of the connection; ignored on a Unix socket. https://www.postgresql.org/docs/17/runtime-config-connection.html
const EARLY_END = Object.freeze({
  tcp_keepalives_idle: '2', // seconds
  tcp_keepalives_interval: '1', // seconds
  tcp_keepalives_count: '3',
  tcp_user_timeout: '6000', // milliseconds
})

class OpenConnection extends pg.Connection {
  /** Gets the answers to an exchange in place of pg. */
  taker: ReplyHandler | undefined

  constructor(stream: Stream['stream']) {
    super({ stream } as unknown as pg.ConnectionConfig)
  }

  /** Replaces pg's own method: the stream is already connected. */
  connect(): void {
    const wire = this as unknown as Wire
    wire._connecting = true
    this.stream.on('error', (error: NodeJS.ErrnoException) => {
      if (wire._ending && (error.code === 'ECONNRESET' || error.code === 'EPIPE')) return
      this.emit('error', error)
    })
    this.stream.on('close', () => this.emit('end'))
    const rest = new EventEmitter() // what pg reads
    wire.attachListeners(rest)
    const frames = createFrames(
      (type, bytes, start, end) => {
        if (this.taker === undefined || !EXCHANGED.has(type)) return false
        // The last message also goes to pg, which waits for it before it sends anything else.
        return !this.taker(type, bytes, start + 5, end)
      },
      (bytes) => rest.emit('data', bytes),
    )
    this.stream.on('data', (chunk: Buffer) => frames.feed(chunk))
    process.nextTick(() => this.emit('connect')) // after the client has added its listeners
  }
}

/** One session. Every field is plain data; the password is in none of them. */
export class Session extends pg.Client {
  readonly route: Route
  readonly encrypted: boolean
  /** Prepared statements in groups, one round trip each; beside pg's own `query`. */
  readonly exchanges: Exchanges
  readonly #startup: Readonly<Record<string, string>>
  #isCut = false

  constructor(route: Route, { stream, encrypted }: Stream, conninfo: Conninfo, limits: SessionLimits) {
    const { user, database, password } = conninfo
    const connection = new OpenConnection(stream)
    super({
      // All values that pg would otherwise read from PG* variables; host and port are not used, since the stream is
      // connected.
      host: 'open',
      port: 1,
      user,
      database,
      ssl: false,
      sslnegotiation: 'postgres',
      password: () => {
        if (password === undefined) throw PasswordMissing()
        return password
      },
      enableChannelBinding: conninfo.channelBinding && encrypted,
      connection,
      types: { getTypeParser: parserOf },
    } as unknown as pg.ClientConfig)
    // The connection may be lost before the caller adds a listener, and an error without a listener ends the process.
    this.on('error', () => {})
    this.exchanges = createExchanges({
      write: (bytes) => void connection.stream.write(bytes),
      enqueue: (query) => void this.query(query as unknown as pg.Submittable),
      listen: (handler) => {
        connection.taker = handler
      },
    })
    this.route = route
    this.encrypted = encrypted
    this.#startup = Object.freeze({
      user,
      database,
      application_name: conninfo.applicationName,
      DateStyle: 'ISO, MDY',
      TimeZone: 'UTC',
      ...PLANNING,
      ...ISOLATION,
      ...(limits.statementTimeoutMs > 0 ? { statement_timeout: String(limits.statementTimeoutMs) } : {}),
      ...(limits.lockTimeoutMs > 0 ? { lock_timeout: String(limits.lockTimeoutMs) } : {}),
      ...(limits.idleInTransactionMs > 0
        ? { idle_in_transaction_session_timeout: String(limits.idleInTransactionMs) }
        : {}),
      ...(limits.endsEarly ? EARLY_END : {}),
      ...(limits.synchronousCommit ? { synchronous_commit: 'on' } : {}),
      ...(conninfo.options === undefined ? {} : { options: conninfo.options }),
    })
  }

  /** pg's hook for the startup message. */
  getStartupConf(): Readonly<Record<string, string>> {
    return this.#startup
  }

  /** The values that a cancel request needs. */
  get backend(): { readonly processID: number; readonly secretKey: number } {
    const { processID, secretKey } = this as unknown as { processID: number; secretKey: number }
    return { processID, secretKey }
  }

  /** 'I' idle, 'T' in a transaction, 'E' in a failed one; null before the first answer. */
  get transactionStatus(): string | null {
    return (this as unknown as { _txStatus: string | null })._txStatus
  }

  /** False as soon as the connection is lost or ending. */
  get isUsable(): boolean {
    const { _queryable, _ending, _ended } = this as unknown as Record<'_queryable' | '_ending' | '_ended', boolean>
    return !this.#isCut && _queryable && !_ending && !_ended
  }

  /** Cuts the connection at once; statements under way fail. */
  destroy(): void {
    this.#isCut = true
    this.connection.stream.destroy()
  }
}
