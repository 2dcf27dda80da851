/**
 * Runs groups of prepared statements in one round trip. All groups are written at once; one that fails is rolled back
 * and does not affect the groups behind it. Statements of a group outside BEGIN are one transaction, committed with its
 * end.
 */
import type { Sql } from '../contract.ts'
import { StatementTooLarge } from '../errors.ts'
import { type Columns, NO_COLUMNS, readRowDescription } from './columns.ts'
import { createGroupAnswers, type ReplyHandler } from './group-answers.ts'
import { ERROR, READY, ROW_DESCRIPTION } from './message-types.ts'
import { bindMessage, closeMessage, MAX_PARAMS, prepareMessages, RUN_PORTAL, SYNC } from './messages.ts'
import { ConnectionLost, readServerError } from './server-error.ts'
import type { StatementGroup } from './statement-group.ts'

const MAX_PREPARED = 400 // per session; a statement costs the server some ten kilobytes
const NAME_BYTES = 50 // of 63, NAMEDATALEN - 1

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

export interface Exchanges {
  /** Calls must not overlap: wait until every group of the last call is settled or failed. */
  run(groups: readonly StatementGroup[]): void
}

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
    const columns: (readonly Columns[])[] = []
    for (const { steps } of groups) {
      const used = steps.map(({ statement }) => prepared.get(statement)!)
      for (const [index, one] of used.entries())
        bytes.push(bindMessage(one.name, steps[index]!.params, one.columns.formats), RUN_PORTAL)
      bytes.push(SYNC)
      columns.push(used.map((one) => one.columns))
    }
    const answers = createGroupAnswers(groups, columns)
    send(bytes, answers.take, answers.finish, answers.lose)
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

  /** Returns the groups that the protocol can carry. The others fail here, because an error while sending would end the process. */
  const carried = (groups: readonly StatementGroup[]): readonly StatementGroup[] => {
    const isCarried = ({ steps }: StatementGroup): boolean => steps.every(({ params }) => params.length <= MAX_PARAMS)
    if (groups.every(isCarried)) return groups
    for (const group of groups) if (!isCarried(group)) group.fail(StatementTooLarge(`at most ${MAX_PARAMS} values`))
    return groups.filter(isCarried)
  }

  return {
    run(given) {
      const groups = carried(given)
      if (groups.length === 0) return
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
