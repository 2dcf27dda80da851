/** The database plugin with somebody at the door: counts what it is asked, and lets transactions fail when told to. */
import { type AnyPlugin, definePlugin } from '../../kernel/index.ts'
import database from '../../plugins/database/index.ts'
import { Database } from '../../plugins/database/service.ts'

export interface DatabaseWatch {
  /** Queries and transactions asked for until now. */
  asked: number
  /** Transactions that are under way. */
  busy: number
  /** While true, transactions are refused. */
  refuses: boolean
  /** Waited for behind each query beside the main thread, before what it found is given. */
  behindLong: (() => Promise<unknown>) | undefined
}

export const watchedDatabase = (): { readonly plugin: AnyPlugin; readonly watch: DatabaseWatch } => {
  const watch: DatabaseWatch = { asked: 0, busy: 0, refuses: false, behindLong: undefined }
  const watched = (inner: Database): Database => ({
    ...inner,
    get: (statement, params) => {
      watch.asked += 1
      return inner.get(statement, params)
    },
    all: (statement, params) => {
      watch.asked += 1
      return inner.all(statement, params)
    },
    longQuery: async <R>(...asked: Parameters<Database['longQuery']>): Promise<R[]> => {
      watch.asked += 1
      const rows = await inner.longQuery<R>(...asked)
      await watch.behindLong?.()
      return rows
    },
    transact: async (work) => {
      watch.asked += 1
      if (watch.refuses) throw new Error('planted')
      watch.busy += 1
      try {
        return await inner.transact(work)
      } finally {
        watch.busy -= 1
      }
    },
  })
  const plugin = definePlugin({
    ...(database as AnyPlugin),
    setup: (host) =>
      database.setup({
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
