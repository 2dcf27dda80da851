/** The two ways a statement can fail: with an error of the server, or with a lost connection. */

/** An error that the server reported. */
export class PostgresError extends Error {
  /** SQLSTATE, https://www.postgresql.org/docs/17/errcodes-appendix.html */
  readonly code: string
  readonly severity: string
  readonly detail: string | undefined
  readonly table: string | undefined
  readonly constraint: string | undefined

  constructor(fields: ReadonlyMap<string, string>) {
    super(fields.get('M') ?? 'the server gave no reason')
    this.name = 'PostgresError'
    this.code = fields.get('C') ?? ''
    this.severity = fields.get('V') ?? fields.get('S') ?? ''
    this.detail = fields.get('D')
    this.table = fields.get('t')
    this.constraint = fields.get('n')
  }
}

/** The connection ended before the answer: it is not known whether the statement ran. */
export class ConnectionLost extends Error {
  constructor(cause: unknown) {
    super(cause instanceof Error ? cause.message : 'the connection was lost', { cause })
    this.name = 'ConnectionLost'
  }
}

/** From an ErrorResponse message whose fields begin at `at`. */
export const readServerError = (bytes: Buffer, at: number): PostgresError => {
  const fields = new Map<string, string>()
  let start = at
  while (bytes[start] !== 0) {
    const end = bytes.indexOf(0, start)
    fields.set(String.fromCharCode(bytes[start]!), bytes.toString('utf8', start + 1, end))
    start = end + 1
  }
  return new PostgresError(fields)
}
