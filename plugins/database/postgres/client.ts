/** Connects to the first usable PostgreSQL server of a connection string, and cancels statements that run there. */
import type { Logger } from '../../../kernel/index.ts'
import { isServerError } from '../../../kernel/index.ts'
import type { Conninfo, SessionAttrs } from './conninfo.ts'
import { dial, type Route, resolveEndpoint } from './dial.ts'
import { describeEndpoint } from './endpoints.ts'
import { NoneUsable, ServerRefused, SessionUnsuitable, TlsFailed, TlsInjected, Unreachable } from './errors.ts'
import { printable } from './printable.ts'
import { Session, type SessionLimits } from './session.ts'
import type { TlsFiles } from './tls-files.ts'
import { tlsReason } from './tls-reason.ts'

const CANCEL_CODE = 80_877_102 // https://www.postgresql.org/docs/17/protocol-message-formats.html, CancelRequest
// https://www.postgresql.org/docs/17/errcodes-appendix.html
const CANNOT_CONNECT_NOW = '57P03'
const INVALID_AUTHORIZATION = '28000' // the code when no line of pg_hba.conf allows this connection

export interface ConnectorOptions {
  readonly conninfo: Conninfo
  readonly files: TlsFiles
  readonly limits: SessionLimits
  readonly log: Logger
}

export interface Connector {
  /** A session ready for statements. Throws the error of the last host, or NoneUsable when there were several. */
  connect(signal?: AbortSignal): Promise<Session>
  /** Asks the server to stop what the session is doing; it may already be done. */
  cancel(session: Session): Promise<void>
}

export const createConnector = ({ conninfo, files, limits, log }: ConnectorOptions): Connector => {
  const open = (route: Route, signal: AbortSignal | undefined): Promise<Session> =>
    dial(route, conninfo, files, signal, async (stream) => {
      const session = new Session(route, stream, conninfo, limits)
      try {
        await session.connect()
      } catch (error) {
        throw fromStartup(error, describeEndpoint(route.endpoint))
      }
      await checkSession(session, conninfo.targetSessionAttrs)
      return session
    })

  /** Only `prefer` retries without TLS, where TLS fails or pg_hba.conf does not allow it. */
  const openPreferred = async (route: Route, signal: AbortSignal | undefined): Promise<Session> => {
    try {
      return await open(route, signal)
    } catch (error) {
      if (isServerError(error) && error.key === TlsInjected.key)
        log.warn({ err: error, ...(error.extras.detail as object) }, 'evidence of an attack on the database connection')
      if (!route.tls || conninfo.tls.mode !== 'prefer' || !allowsPlain(error)) throw error
      log.debug({ err: error }, 'connecting without TLS')
      return open({ ...route, tls: false }, signal)
    }
  }

  return {
    async connect(signal) {
      const failures: unknown[] = []
      for (const endpoint of conninfo.endpoints) {
        const tls = conninfo.tls.mode !== 'disable' && endpoint.kind === 'tcp'
        try {
          for (const address of await resolveEndpoint(endpoint)) {
            try {
              return await openPreferred({ endpoint, address, tls }, signal)
            } catch (error) {
              if (!mayTryNext(error)) throw error
              failures.push(error)
            }
          }
        } catch (error) {
          signal?.throwIfAborted()
          if (!mayTryNext(error)) throw error
          failures.push(error)
        }
      }
      if (failures.length === 1) throw failures[0]
      const reasons = failures.map((error) => (error instanceof Error ? error.message : String(error)))
      throw NoneUsable(reasons.join(' ')).with({ cause: failures.at(-1) })
    },
    async cancel(session) {
      const { processID, secretKey } = session.backend
      const message = Buffer.alloc(16)
      message.writeInt32BE(16, 0)
      message.writeInt32BE(CANCEL_CODE, 4)
      message.writeInt32BE(processID, 8)
      message.writeInt32BE(secretKey, 12)
      await dial(
        { ...session.route, tls: session.encrypted },
        conninfo,
        files,
        undefined,
        ({ stream }) =>
          new Promise<void>((resolve) => {
            // The server answers nothing and closes.
            stream.on('close', () => resolve()).on('error', () => {})
            stream.resume()
            stream.end(message)
          }),
      )
    },
  }
}

const fromStartup = (error: unknown, where: string): unknown => {
  if (isServerError(error)) return error
  const { code, message, severity } = error as { code?: string; message: string; severity?: string }
  if (severity !== undefined && code !== undefined)
    return ServerRefused(where, printable(message), code).with({ detail: { sqlstate: code } })
  if (code?.startsWith('ERR_SSL'))
    return TlsFailed(where, tlsReason(error as NodeJS.ErrnoException)).with({ detail: { code } })
  return Unreachable(where, printable(message)).with({ detail: { code } })
}

const sqlstateOf = (error: unknown): string | undefined =>
  isServerError(error) ? (error.extras.detail as { sqlstate?: string } | undefined)?.sqlstate : undefined

const allowsPlain = (error: unknown): boolean =>
  isServerError(error) && (error.key === TlsFailed.key || sqlstateOf(error) === INVALID_AUTHORIZATION)

/** As in libpq: a server that answers with a refusal ends the search, unless it is starting or stopping. */
const mayTryNext = (error: unknown): boolean =>
  isServerError(error) && (error.key !== ServerRefused.key || sqlstateOf(error) === CANNOT_CONNECT_NOW)

const checkSession = async (session: Session, wanted: SessionAttrs): Promise<void> => {
  if (wanted === 'any') return
  const { rows } = await session.query<{ standby: boolean; readonly: boolean }>(
    "SELECT pg_is_in_recovery() AS standby, current_setting('transaction_read_only')::bool AS readonly",
  )
  const { standby, readonly } = rows[0]!
  const suits = { 'read-write': !readonly, 'read-only': readonly, primary: !standby, standby }[wanted]
  if (!suits) throw SessionUnsuitable(describeEndpoint(session.route.endpoint), wanted)
}
