/** The Transaction that the jobs of a group use, one after the other; it records what the current job has done. */
import type BetterSqlite from 'better-sqlite3'
import { BeforeCommitWork } from '../before-commit-work.ts'
import type { Sql, SqlParam, Transaction } from '../contract.ts'
import type { Publication } from '../feed/publication.ts'
import type { InsertBuffer } from './insert-buffer.ts'
import type { PreparedStatements } from './statements.ts'
import type { TransactionQueries } from './transaction-queries.ts'

export interface GroupTransaction extends Transaction {
  /** Starts the next job; `isLong`: see `TransactionQueries`. */
  start(isLong: boolean): void
  /** True where the current job fails because it has to run again as a long one. */
  readonly wantsToBeLong: boolean
  /** Whether the current job has written anything. */
  readonly wrote: boolean
  /** Items that it registered with `beforeCommit`. */
  readonly left: BeforeCommitWork | undefined
  /** Functions to call after COMMIT. */
  readonly listeners: readonly (() => void)[]
  /** What it publishes. */
  readonly published: readonly Publication[]
}

const NOTHING: readonly Publication[] = []
const NOBODY: readonly (() => void)[] = []

export const createJobTransaction = (
  statements: PreparedStatements,
  insertBuffer: InsertBuffer,
  queries: TransactionQueries,
): GroupTransaction => {
  let wrote = false
  let left: BeforeCommitWork | undefined
  let listeners: (() => void)[] | undefined
  let published: Publication[] | undefined

  const writes = (): void => {
    wrote = true
    queries.wrote()
  }
  const prepare = (statement: Sql): BetterSqlite.Statement => {
    if (insertBuffer.concerns(statement)) {
      writes()
      for (const _part of insertBuffer.flush());
    }
    return statements.of(statement)
  }
  /** A statement with a result; with RETURNING it may write too. */
  const prepared = (statement: Sql): BetterSqlite.Statement => {
    const found = prepare(statement)
    if (!found.readonly) writes()
    return found
  }
  return {
    start(isLong) {
      queries.start(isLong)
      wrote = false
      left = undefined
      listeners = undefined
      published = undefined
    },
    get wrote() {
      return wrote
    },
    get wantsToBeLong() {
      return queries.wantsToBeLong
    },
    get left() {
      return left
    },
    get listeners() {
      return listeners ?? NOBODY
    },
    get published() {
      return published ?? NOTHING
    },
    publish(publication) {
      published ??= []
      published.push(publication)
    },
    afterCommit(listener) {
      listeners ??= []
      listeners.push(listener)
    },
    afterEnd: () => undefined,
    beforeCommit(participant, item) {
      left ??= new BeforeCommitWork()
      left.add(participant, item)
    },
    get: <R>(statement: Sql, params: readonly SqlParam[]) => prepared(statement).get(...params) as R | undefined,
    all: <R>(statement: Sql, params: readonly SqlParam[]) => prepared(statement).all(...params) as R[],
    longQuery: (statement, params, signal) => queries.run({ statement, params, signal }, wrote, prepared),
    run(statement, params) {
      writes()
      prepare(statement).run(...params)
    },
    insertDeferred(insert, params, last) {
      writes()
      insertBuffer.add(insert, params, last)
    },
    hold: () => undefined,
    queue: () => undefined,
    assertOptimistically: () => false,
  }
}
