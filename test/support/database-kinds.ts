/** The kinds of database every storage test runs on, each with the settings that make a fresh one. */
import { join } from 'node:path'
import { temporaryFolder } from './server-with.ts'

export interface DatabaseKind {
  readonly name: 'sqlite' | 'memory' | 'postgres'
  /** Settings of a database nobody used before; `again` opens the same one once more, where that is possible. */
  fresh(): Promise<{
    readonly settings: Record<string, unknown>
    readonly persistent: boolean
    remove(): Promise<void>
  }>
}

const sqlite: DatabaseKind = {
  name: 'sqlite',
  async fresh() {
    const folder = temporaryFolder()
    return {
      settings: { database: { kind: 'sqlite', sqlite_path: join(folder.path, 'test.sqlite') } },
      persistent: true,
      remove: async () => folder.remove(),
    }
  },
}

const memory: DatabaseKind = {
  name: 'memory',
  fresh: async () => ({ settings: { database: { kind: 'memory' } }, persistent: false, remove: async () => undefined }),
}

/** `TEST_DATABASE=sqlite` narrows a run to one kind. */
export const databaseKinds: readonly DatabaseKind[] = [sqlite, memory].filter(
  ({ name }) => (process.env.TEST_DATABASE ?? name) === name,
)
