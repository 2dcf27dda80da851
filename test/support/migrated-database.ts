/**
 * Databases with the schema of given plugins, to copy from: a copy takes a fraction of the time of the migrations. Only
 * the migrations are in them; what a first start stores beside them is left to the server of each test.
 */
import { pino } from 'pino'
import { type AnyPlugin, BUILD, systemClock, systemRandom } from '../../kernel/index.ts'
import { createFeedHub } from '../../plugins/database/feed/feed-hub.ts'
import { openDatabase } from '../../plugins/database/open.ts'

/** Equal for lists of plugins with the same migrations. */
export const schemaKey = (plugins: readonly AnyPlugin[]): string =>
  JSON.stringify(plugins.map(({ name, migrations = [] }) => [name, migrations]))

/** A new SQLite file, or the URL of an empty PostgreSQL database. */
export type EmptyDatabase =
  | { readonly kind: 'sqlite'; readonly sqlite_path: string }
  | { readonly kind: 'postgres'; readonly postgres_url: string }

export const migrateDatabase = async (empty: EmptyDatabase, plugins: readonly AnyPlugin[]): Promise<void> => {
  const log = pino({ level: 'silent' })
  const opened = await openDatabase(
    {
      kind: empty.kind,
      sqlitePath: empty.kind === 'sqlite' ? empty.sqlite_path : '',
      sqliteMmapSize: 0,
      caches: { writer: 8_192, reader: 4_096, thread: 2_048 },
      postgresUrl: empty.kind === 'postgres' ? empty.postgres_url : undefined,
      pool: undefined,
      release: 'r4',
      build: BUILD,
      plugins,
      entities: async () => [],
      lease: {
        mode: 'wait',
        onWait: () => undefined,
        onUnmigrated: () => undefined,
        onTaken: () => undefined,
        onLost: () => undefined,
      },
      clock: systemClock,
      random: systemRandom,
      feed: createFeedHub(log),
      log,
    },
    new AbortController().signal,
  )
  await opened.close()
}

/**
 * Calls `make` for the second request with the same migrations, and returns what it made from then on. The first one
 * gets undefined: a schema that one test uses is not worth a copy.
 */
export const templatesOf = <T>(
  make: (plugins: readonly AnyPlugin[]) => Promise<T>,
): ((plugins: readonly AnyPlugin[] | undefined) => Promise<T | undefined>) => {
  const seen = new Map<string, Promise<T> | undefined>()
  return async (plugins) => {
    if (plugins === undefined) return undefined
    const key = schemaKey(plugins)
    if (!seen.has(key)) {
      seen.set(key, undefined)
      return undefined
    }
    const made = seen.get(key) ?? make(plugins)
    seen.set(key, made)
    return made
  }
}
