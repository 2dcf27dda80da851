/** Connects to PostgreSQL as the server does, with a log that a test can read. */
import { pino } from 'pino'
import type { Logger } from '../../kernel/index.ts'
import { type Connector, createConnector } from '../../plugins/database/postgres/client.ts'
import { parseConninfo } from '../../plugins/database/postgres/conninfo.ts'
import type { Session, SessionLimits } from '../../plugins/database/postgres/session.ts'
import { createTlsFiles, type TlsFiles } from '../../plugins/database/postgres/tls-files.ts'

export interface LogLines {
  readonly log: Logger
  /** Lines that were logged at this level, parsed, the newest last. */
  at(level: 'debug' | 'info' | 'warn' | 'error'): readonly Record<string, any>[]
  /** Every line as it was written. */
  text(): string
}

export const collectLog = (): LogLines => {
  const lines: string[] = []
  const log = pino(
    { level: 'debug', base: null, formatters: { level: (label) => ({ level: label }) } },
    { write: (line: string) => void lines.push(line) },
  )
  return {
    log,
    at: (level) => lines.map((line) => JSON.parse(line)).filter((line) => line.level === level),
    text: () => lines.join(''),
  }
}

export const LIMITS: SessionLimits = { statementTimeoutMs: 0, lockTimeoutMs: 0, idleInTransactionMs: 0 }

export interface Access {
  readonly connector: Connector
  readonly files: TlsFiles
  readonly lines: LogLines
  connect(): Promise<Session>
}

/** Does what the server does at its start: parses the string and loads the files; both may fail. */
export const accessPostgres = async (
  text: string,
  options: { readonly connectTimeoutMs?: number; readonly limits?: SessionLimits } = {},
): Promise<Access> => {
  const lines = collectLog()
  const given = parseConninfo(text, { applicationName: 'refhir', account: () => 'nobody' })
  // A copy with another timeout, which inherits the non-enumerable password.
  const conninfo = Object.create(given, {
    connectTimeoutMs: { value: options.connectTimeoutMs ?? given.connectTimeoutMs },
  })
  const files = createTlsFiles(given.tls, lines.log)
  await files.current()
  const connector = createConnector({
    conninfo,
    files,
    limits: options.limits ?? LIMITS,
    log: lines.log,
  })
  return { connector, files, lines, connect: () => connector.connect() }
}

/** Connects, calls `then` with the session, and closes it. */
export const withSession = async <T>(text: string, then: (session: Session) => Promise<T>): Promise<T> => {
  const { connect } = await accessPostgres(text)
  const session = await connect()
  try {
    return await then(session)
  } finally {
    await session.end()
  }
}
