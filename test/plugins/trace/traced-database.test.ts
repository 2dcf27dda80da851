/** Statements belong to the trace of the request they are made for, also where transactions of several share a COMMIT. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { RequestContext } from '../../../kernel/index.ts'
import { type Database, sql, type Transaction } from '../../../plugins/database/service.ts'
import { createOpenTraces } from '../../../plugins/trace/open-traces.ts'
import { Trace } from '../../../plugins/trace/trace.ts'
import { tracedDatabase } from '../../../plugins/trace/traced-database.ts'

const read = sql('test.read', "SELECT a FROM t WHERE b = ? AND c = 'zwetschge' AND d = 4711 AND e IN (?, ?, ?)")

/** Runs the work of all who wait in the context of the one who ends the wait. */
const sharing = () => {
  const waiting: (() => void)[] = []
  const transaction = { all: () => [{}, {}] } as unknown as Transaction
  const database = {
    kind: 'sqlite',
    get: () => ({}),
    transact: (work: (one: Transaction) => unknown) =>
      new Promise((resolve) => waiting.push(() => resolve(work(transaction)))),
  } as unknown as Database
  return { database, runAll: () => waiting.splice(0).map((one) => one()) }
}
const request = (): RequestContext =>
  ({ id: 'r', method: 'GET', requestClass: 'read', startedAt: 0, headers: {} }) as unknown as RequestContext
const opened = () => {
  let at = 0
  return new Trace({ id: 'x', request: request(), now: () => at++ })
}
const statementsOf = ({ steps }: Trace): readonly string[] =>
  steps.filter(({ kind }) => kind === 'statement').map(({ details, ended }) => `${details.where} ${ended?.rows}`)

test('work that is done within that of another request is no part of its trace', async () => {
  const traces = createOpenTraces()
  const { database: inner, runAll } = sharing()
  const database = tracedDatabase(inner, traces)
  const write = () =>
    database.transact((transaction) => {
      database.get(read, [1])
      return transaction.all(read, [1])
    })
  const [first, second] = [opened(), opened()]
  const all = [
    traces.run(undefined, write),
    traces.run(first, write),
    traces.run(second, async () => {
      const done = write()
      runAll()
      return done
    }),
  ]
  await Promise.all(all)
  for (const one of [first, second]) assert.equal(statementsOf(one), ['main thread 1', 'transaction 2'])
})

test('a statement is shown without literals', () => {
  const traces = createOpenTraces()
  const database = tracedDatabase(sharing().database, traces)
  const trace = opened()
  traces.run(trace, () => database.get(read, ['secret']))
  assert.is(trace.steps[0]?.details.sql, 'SELECT a FROM t WHERE b = ? AND c = ? AND d = ? AND e IN (?, …)')
})

test('what goes on behind the answer is no part of the trace', () => {
  const traces = createOpenTraces()
  const database = tracedDatabase(sharing().database, traces)
  const trace = opened()
  traces.run(trace, () => {
    trace.close(200, 1)
    database.get(read, [1])
  })
  assert.equal(trace.steps, [])
})

test.run()
