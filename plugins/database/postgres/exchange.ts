/**
 * Runs groups of prepared statements in one round trip. All groups are written at once; one that fails is rolled back
 * and does not affect the groups behind it. Statements of a group outside BEGIN are one transaction, committed with its
 * end.
 */
import type { Sql, SqlParam } from '../contract.ts'
import { type Columns, NO_COLUMNS, readRowDescription } from './columns.ts'
import { bindMessage, closeMessage, prepareMessages, RUN_PORTAL, SYNC } from './messages.ts'
import { ConnectionLost, readServerError } from './server-error.ts'

const MAX_PREPARED = 400 // per session; a statement costs the server some ten kilobytes
const NAME_BYTES = 50 // of 63, NAMEDATALEN - 1

export interface BoundStatement {
  readonly statement: Sql
  readonly params: readonly SqlParam[]
}

export interface StatementResult {
  readonly rows: Record<string, unknown>[]
  /** `INSERT 0 1`, `COMMIT`, … */
  readonly tag: string
}

/** Statements that succeed or fail together. Exactly one of the two is called, once. */
export interface StatementGroup {
  readonly steps: readonly BoundStatement[]
  settle(results: readonly StatementResult[]): void
  fail(error: unknown): void
}

interface PreparedStatement {
  readonly name: string
  readonly columns: Columns
}

/** The methods that pg calls on the query at the front of its queue. */
interface Submitted {
  submit(connection: unknown): null
  handleError(error: unknown): void
  handleReadyForQuery(): void
  callback(): void
}

/** The part of a session that an exchange uses. */
export interface Connection {
  write(bytes: Buffer): void
  /** Enters pg's queue of queries. */
  enqueue(query: Submitted): void
  /** Sets the handler of the server's messages until the answer is complete; undefined returns them to pg. */
  listen(handler: ReplyHandler | undefined): void
}

/** Handles a message of the server; `at` is where its fields begin. Returns true when the answer is complete. */
export type ReplyHandler = (type: number, bytes: Buffer, at: number, end: number) => boolean

export interface Exchanges {
  /** Calls must not overlap: wait until every group of the last call is settled or failed. */
  run(groups: readonly StatementGroup[]): void
}

const BIND_COMPLETE = 0x32
const PARSE_COMPLETE = 0x31
const CLOSE_COMPLETE = 0x33
const PARAMETER_DESCRIPTION = 0x74
const ROW_DESCRIPTION = 0x54
const NO_DATA = 0x6e
const DATA_ROW = 0x44
const COMMAND_COMPLETE = 0x43
const EMPTY_QUERY = 0x49
const ERROR = 0x45
const READY = 0x5a

/** Messages that an exchange handles; notices, parameters and notifications stay with pg. */
export const EXCHANGED: ReadonlySet<number> = new Set([
  BIND_COMPLETE,
  PARSE_COMPLETE,
  CLOSE_COMPLETE,
  PARAMETER_DESCRIPTION,
  ROW_DESCRIPTION,
  NO_DATA,
  DATA_ROW,
  COMMAND_COMPLETE,
  EMPTY_QUERY,
  ERROR,
  READY,
])

export const createExchanges = (line: Connection): Exchanges => {
  const prepared = new Map<Sql, PreparedStatement>()
  let count = 0

  /** Sends, and listens until `take` has seen the last answer. `done` may send again. */
  const send = (bytes: readonly Buffer[], take: ReplyHandler, done: () => void, lose: (error: unknown) => void): void =>
    line.enqueue({
      submit() {
        line.listen(take)
        line.write(Buffer.concat(bytes))
        return null
      },
      handleError(error) {
        line.listen(undefined)
        lose(new ConnectionLost(error))
      },
      handleReadyForQuery() {
        line.listen(undefined)
        done()
      },
      callback: () => {},
    })

  const runPrepared = (groups: readonly StatementGroup[]): void => {
    const bytes: Buffer[] = []
    const statements: PreparedStatement[][] = []
    for (const { steps } of groups) {
      const used = steps.map(({ statement }) => prepared.get(statement)!)
      for (const [index, { name, columns }] of used.entries())
        bytes.push(bindMessage(name, steps[index]!.params, columns.formats), RUN_PORTAL)
      bytes.push(SYNC)
      statements.push(used)
    }
    let at = 0 // the group that is being answered
    let results: StatementResult[] = []
    let rows: Record<string, unknown>[] = []
    let error: unknown
    const finish = (): void => {
      const group = groups[at]!
      const answered = results
      const failure = error
      at += 1
      results = []
      rows = []
      error = undefined
      if (failure === undefined) group.settle(answered)
      else group.fail(failure)
    }
    send(
      bytes,
      (type, message, from, end) => {
        switch (type) {
          case DATA_ROW:
            try {
              rows.push(statements[at]![results.length]!.columns.row(message, from))
            } catch (unreadable) {
              error ??= unreadable
            }
            return false
          case COMMAND_COMPLETE:
            results.push({ rows, tag: message.toString('latin1', from, end - 1) })
            rows = []
            return false
          case ERROR:
            error ??= readServerError(message, from)
            return false
          case READY:
            // The last group is finished when pg itself has handled this message: only then is the session's state up
            // to date.
            if (at === groups.length - 1) return true
            finish()
            return false
          default:
            return false
        }
      },
      finish,
      (lost) => {
        while (at < groups.length) {
          error ??= lost
          finish()
          error = lost
        }
      },
    )
  }

  const prepare = (
    missing: readonly Sql[],
    needed: ReadonlySet<Sql>,
    then: (failures: ReadonlyMap<Sql, unknown>) => void,
  ): void => {
    const bytes: Buffer[] = []
    const names = missing.map(({ name, postgres }) => {
      count += 1
      const unique = `${name.slice(0, NAME_BYTES)}#${count}`
      bytes.push(prepareMessages(unique, postgres), SYNC)
      return unique
    })
    const surplus = Math.max(0, prepared.size + missing.length - MAX_PREPARED)
    const evicted = [...prepared].filter(([statement]) => !needed.has(statement)).slice(0, surplus)
    for (const [statement, { name }] of evicted) {
      prepared.delete(statement)
      bytes.push(closeMessage(name))
    }
    if (evicted.length > 0) bytes.push(SYNC)
    const groups = missing.length + (evicted.length > 0 ? 1 : 0)
    const failures = new Map<Sql, unknown>()
    let at = 0
    let columns = NO_COLUMNS
    send(
      bytes,
      (type, message, from) => {
        if (type === ROW_DESCRIPTION) columns = readRowDescription(message, from)
        else if (type === ERROR && at < missing.length) failures.set(missing[at]!, readServerError(message, from))
        else if (type === READY) {
          const statement = missing[at]
          if (statement !== undefined && !failures.has(statement))
            prepared.set(statement, { name: names[at]!, columns })
          columns = NO_COLUMNS
          at += 1
          return at === groups
        }
        return false
      },
      () => then(failures),
      (lost) => {
        for (const statement of missing) failures.set(statement, lost)
        then(failures)
      },
    )
  }

  return {
    run(groups) {
      const needed = new Set(groups.flatMap(({ steps }) => steps.map(({ statement }) => statement)))
      const missing = [...needed].filter((statement) => !prepared.has(statement))
      if (missing.length === 0) return runPrepared(groups)
      prepare(missing, needed, (failures) => {
        const good: StatementGroup[] = []
        for (const group of groups) {
          const broken = group.steps.find(({ statement }) => failures.has(statement))
          if (broken === undefined) good.push(group)
          else group.fail(failures.get(broken.statement))
        }
        if (good.length > 0) runPrepared(good)
      })
    },
  }
}
