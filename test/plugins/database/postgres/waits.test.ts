/**
 * A model of a server with row locks, under the real pool, closing line and shared COMMITs: every order in which its
 * answers may come is tried, up to a bound, and in none of them may transactions wait for each other without end. Time
 * stands still, so that no timeout of pool or locks hides such a wait.
 */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { Connector } from '../../../../plugins/database/postgres/client.ts'
import { createPool } from '../../../../plugins/database/postgres/pool.ts'
import { PostgresError } from '../../../../plugins/database/postgres/server-error.ts'
import type { Session } from '../../../../plugins/database/postgres/session.ts'
import type { BoundStatement, StatementResult } from '../../../../plugins/database/postgres/statement-group.ts'
import { createTransactions } from '../../../../plugins/database/postgres/transactions.ts'
import { type CommitParticipant, sql, type Transaction } from '../../../../plugins/database/service.ts'

const MAX_ORDERS = 50 // of one set of transactions
const NEVER_MS = 2 ** 30

const lock = sql('model.lock', 'SELECT ?')
const write = sql('model.write', 'SELECT 1')
const fail = sql('model.fail', 'SELECT 2')
const head = sql('model.head', 'SELECT 3')

interface Asked {
  readonly session: ModelSession
  readonly steps: readonly BoundStatement[]
  /** The step that is next. */
  at: number
  readonly resolve: (results: readonly StatementResult[]) => void
  readonly reject: (error: unknown) => void
}
class ModelSession {
  readonly isUsable = true
  transactionStatus = 'I'
  /** Rows it has locked. */
  readonly held = new Set<string>()
  /** Its lock_timeout is short. */
  hurries = false
  on(): void {}
  destroy(): void {}
  async end(): Promise<void> {}
}

/** Answers what `choose` picks; everything else waits. */
const createModelServer = () => {
  const asked: Asked[] = []
  const owners = new Map<string, ModelSession>()

  const letGo = (session: ModelSession): void => {
    for (const row of session.held) owners.delete(row)
    session.held.clear()
    session.hurries = false
  }
  const rowOf = ({ statement, params }: BoundStatement): string | undefined =>
    statement === lock ? String(params[0]) : statement === head ? 'head' : undefined
  const isBlocked = ({ session, steps, at }: Asked): boolean => {
    const row = rowOf(steps[at] as BoundStatement)
    return row !== undefined && owners.has(row) && owners.get(row) !== session
  }
  const refuse = (one: Asked, code: string): void => {
    asked.splice(asked.indexOf(one), 1)
    letGo(one.session)
    if (one.session.transactionStatus !== 'I') one.session.transactionStatus = 'E'
    one.reject(
      new PostgresError(
        new Map([
          ['V', 'ERROR'],
          ['C', code],
          ['M', code],
        ]),
      ),
    )
  }
  /** Goes on with its statements until one has to wait. */
  const goOn = (one: Asked): void => {
    const { session, steps } = one
    for (; one.at < steps.length; one.at += 1) {
      const step = steps[one.at] as BoundStatement
      if (isBlocked(one)) return
      const { name } = step.statement
      const row = rowOf(step)
      if (step.statement === fail) {
        refuse(one, '23505')
        return
      }
      if (row !== undefined) {
        owners.set(row, session)
        session.held.add(row)
      } else if (name === 'hurry') session.hurries = true
      else if (name === 'begin') session.transactionStatus = 'T'
      else if (name === 'commit' || name === 'rollback') {
        session.transactionStatus = 'I'
        letGo(session)
      }
    }
    // Statements outside BEGIN are a transaction that ends with them.
    if (session.transactionStatus === 'I') letGo(session)
    asked.splice(asked.indexOf(one), 1)
    one.resolve(steps.map(({ statement }) => ({ rows: [{}], tag: statement.name === 'commit' ? 'COMMIT' : '' })))
  }
  return {
    send: (session: Session, steps: readonly BoundStatement[]): Promise<readonly StatementResult[]> =>
      new Promise((resolve, reject) => {
        asked.push({ session: session as unknown as ModelSession, steps, at: 0, resolve, reject })
      }),
    /** Those that may be answered now. */
    ready: (): readonly Asked[] => asked.filter((one) => !isBlocked(one)),
    goOn,
    /** What waits for a row with a short lock_timeout gives up; false when nothing does. */
    expire(): boolean {
      const late = asked.filter((one) => one.session.hurries && isBlocked(one))
      for (const one of late) refuse(one, '55P03')
      return late.length > 0
    },
  }
}

const participant: CommitParticipant<string> = {
  beforeCommit: async (transaction) => void (await transaction.get(head, [])),
  finished: () => undefined,
  refuse: (cause) => cause as never,
}

type Work = (transaction: Transaction) => unknown
const KINDS: Readonly<Record<string, Work>> = {
  'leaves something only': (transaction) => transaction.beforeCommit(participant, ''),
  'writes and leaves': (transaction) => {
    transaction.beforeCommit(participant, '')
    return transaction.run(write, [])
  },
  'writes what is refused': (transaction) => {
    transaction.beforeCommit(participant, '')
    return transaction.run(fail, [])
  },
  'locks a row and leaves': async (transaction) => {
    await transaction.get(lock, ['a'])
    transaction.beforeCommit(participant, '')
  },
  'locks two rows and leaves': async (transaction) => {
    await transaction.get(lock, ['a'])
    await transaction.get(lock, ['b'])
    transaction.beforeCommit(participant, '')
  },
  'writes a row that others lock': (transaction) => {
    transaction.beforeCommit(participant, '')
    return transaction.run(lock, ['b'])
  },
}

/** Until nothing more happens by itself: what is ready has run, and no turn of the event loop has left work to the next. */
const settle = async (): Promise<void> => {
  do await new Promise(setImmediate)
  while (process.getActiveResourcesInfo().includes('Immediate'))
}

interface Run {
  /** At each choice: which was taken, of how many. */
  readonly choices: readonly { readonly taken: number; readonly of: number }[]
  /** Transactions that wait without end. */
  readonly stuck: number
  readonly expired: number
}

/** Runs `works` at once on `size` sessions; takes the choices of `path`, then the first of each. */
const runOnce = async (works: readonly Work[], size: number, path: readonly number[]): Promise<Run> => {
  const server = createModelServer()
  const connector = { connect: async () => new ModelSession(), cancel: async () => undefined }
  const log = { debug() {}, warn() {}, info() {} } as never
  const pool = createPool({
    connector: connector as unknown as Connector,
    size,
    queue: 100,
    waitMs: NEVER_MS,
    log,
  })
  const { transact } = createTransactions({ pool, send: server.send, now: () => 0, queue: 100 })
  let open = works.length
  for (const work of works) {
    const done = (): void => {
      open -= 1
    }
    transact(work as never).then(done, done)
  }
  const choices: { taken: number; of: number }[] = []
  let expired = 0
  for (;;) {
    await settle()
    const ready = server.ready()
    if (ready.length > 0) {
      const taken = path[choices.length] ?? 0
      choices.push({ taken, of: ready.length })
      server.goOn(ready[taken] as Asked)
    } else if (open > 0 && server.expire()) expired += 1
    else break
  }
  await pool.close(0)
  return { choices, stuck: open, expired }
}

/** Every order, depth first, up to the bound. */
const runAll = async (works: readonly Work[], size: number): Promise<readonly Run[]> => {
  const runs: Run[] = []
  for (let path: readonly number[] | undefined = []; path !== undefined && runs.length < MAX_ORDERS; ) {
    const run: Run = await runOnce(works, size, path)
    runs.push(run)
    const last = run.choices.findLastIndex(({ taken, of }) => taken + 1 < of)
    path =
      last === -1 ? undefined : [...run.choices.slice(0, last).map(({ taken }) => taken), run.choices[last]!.taken + 1]
  }
  return runs
}

const names = Object.keys(KINDS)
/** Every choice of `count` of the kinds, with repetition. */
const setsOf = (count: number, from = 0): readonly string[][] =>
  count === 0
    ? [[]]
    : names.flatMap((name, at) => (at < from ? [] : setsOf(count - 1, at).map((rest) => [name, ...rest])))

test('no order of answers makes transactions wait for each other without end', async () => {
  const stuck: string[] = []
  let orders = 0
  for (const [count, size] of [
    [3, 2],
    [4, 3],
  ] as const)
    for (const set of setsOf(count)) {
      const runs = await runAll(
        set.map((name) => KINDS[name] as Work),
        size,
      )
      orders += runs.length
      const found = runs.find((run) => run.stuck > 0)
      if (found !== undefined)
        stuck.push(`${size} sessions: ${set.join(', ')}; ${found.choices.map(({ taken }) => taken).join('')}`)
      // Only who sends its statements at its turn may wait there for a row of somebody behind it, and that is bounded.
      if (!set.includes('writes a row that others lock')) assert.is(runs.filter(({ expired }) => expired > 0).length, 0)
    }
  assert.equal(stuck, [])
  assert.ok(orders > 1_000, `${orders} orders`)
})

test.run()
