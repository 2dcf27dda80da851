/** The database plugin with a wrapper that counts queries and transactions, and can make transactions fail. */
import { type AnyPlugin, definePlugin } from '../../kernel/index.ts'
import database from '../../plugins/database/index.ts'
import { Database, type MaybePromise, type Sql, type Transaction } from '../../plugins/database/service.ts'

export interface DatabaseWatch {
  /** Number of queries and transactions until now. */
  asked: number
  /** How often each statement was asked outside of transactions, by its name. */
  readonly statements: Map<string, number>
  /** Number of open transactions. */
  busy: number
  /** While true, transactions fail. */
  refuses: boolean
  /** Awaited before each query for rows is sent. */
  before: (() => Promise<unknown>) | undefined
  /** Awaited after each query for rows, before they are returned. */
  behind: (() => Promise<unknown>) | undefined
  /** Awaited before each query for one row. Undefined for a query that is not held up. */
  beforeOne: ((isInTransaction: boolean) => Promise<unknown> | undefined) | undefined
  /** Awaited after each query for one row outside of transactions, before it is returned. */
  behindOne: (() => Promise<unknown> | undefined) | undefined
}

/** `base`: the plugin, or the one without the writer lease. */
export const watchedDatabase = (base = database): { readonly plugin: AnyPlugin; readonly watch: DatabaseWatch } => {
  const watch: DatabaseWatch = {
    ...{ asked: 0, statements: new Map<string, number>(), busy: 0, refuses: false },
    ...{ before: undefined, behind: undefined, beforeOne: undefined, behindOne: undefined },
  }
  const count = ({ name }: Sql): void => {
    watch.asked += 1
    watch.statements.set(name, (watch.statements.get(name) ?? 0) + 1)
  }
  const held = <R>(isInTransaction: boolean, ask: () => MaybePromise<R>): MaybePromise<R> => {
    const waiting = watch.beforeOne?.(isInTransaction)
    return waiting === undefined ? ask() : waiting.then(ask)
  }
  const watchedTransaction = (inner: Transaction): Transaction =>
    Object.assign(Object.create(inner) as Transaction, {
      get: <R>(...asked: Parameters<Transaction['get']>) => held(true, () => inner.get<R>(...asked)),
    })
  const watched = (inner: Database): Database => ({
    ...inner,
    get: <R>(...asked: Parameters<Database['get']>) => {
      count(asked[0])
      const row = held(false, () => inner.get<R>(...asked))
      if (watch.behindOne === undefined) return row
      return Promise.resolve(row).then(async (found) => {
        await watch.behindOne?.()
        return found
      })
    },
    all: <R>(...asked: Parameters<Database['all']>): MaybePromise<R[]> => {
      count(asked[0])
      const { before } = watch
      if (before !== undefined) return before().then(() => inner.all<R>(...asked))
      const rows = inner.all<R>(...asked)
      if (watch.behind === undefined) return rows
      return Promise.resolve(rows).then(async (found) => {
        await watch.behind?.()
        return found
      })
    },
    longQuery: async <R>(...asked: Parameters<Database['longQuery']>): Promise<R[]> => {
      count(asked[0])
      await watch.before?.()
      const rows = await inner.longQuery<R>(...asked)
      await watch.behind?.()
      return rows
    },
    reading: (work) => inner.reading((transaction) => work(watchedTransaction(transaction))),
    transact: async (work, options) => {
      watch.asked += 1
      if (watch.refuses) throw new Error('planted')
      watch.busy += 1
      try {
        return await inner.transact((transaction, ...more) => work(watchedTransaction(transaction), ...more), options)
      } finally {
        watch.busy -= 1
      }
    },
  })
  const plugin = definePlugin({
    ...(base as AnyPlugin),
    setup: (host) =>
      base.setup({
        ...(host as Parameters<typeof database.setup>[0]),
        provide: (service, instance) =>
          host.provide(
            service,
            (service as unknown) === Database ? (watched(instance as Database) as never) : instance,
          ),
      }),
  })
  return { plugin, watch }
}
