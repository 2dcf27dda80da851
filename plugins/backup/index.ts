/** `server backup` and `server restore`: copies of an SQLite database, made while a server uses it. */
import { definePlugin } from '../../kernel/index.ts'
import { Database } from '../database/service.ts'
import * as errors from './errors.ts'
import { createRestoreNotes, restoreNoteMigration } from './restore-notes.ts'

export default definePlugin({
  name: 'backup',
  description: 'Copies a database while a server uses it, and makes a database of a copy',
  needs: { database: Database },
  migrations: [restoreNoteMigration],
  errors,
  commands: {
    backup: async () => (await import('./commands/backup.ts')).default,
    restore: async () => (await import('./commands/restore.ts')).default,
  },
  setup({ needs: { database }, run, request, serves }) {
    const notes = createRestoreNotes({ database, run, request })
    return {
      async start() {
        if (serves && !database.isReader) await notes.record()
      },
    }
  },
})
