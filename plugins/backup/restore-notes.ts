/**
 * Notes that a database was restored. Only servers write the audit trail, so `server restore` leaves a row, and the next
 * server that writes moves it into the trail.
 */
import type { Host, SchemaChange } from '../../kernel/index.ts'
import { type Database, sql } from '../database/service.ts'

// A backup of an earlier build lacks the table, and the command makes it.
const TABLE = 'CREATE TABLE IF NOT EXISTS backup_restored (restored_at bigint NOT NULL)'

export const restoreNoteMigration: SchemaChange = { name: 'backup/0001-restored', sql: [TABLE] }

/** `now`: milliseconds since the epoch. */
export const noteStatements = (now: number) => [
  { text: TABLE, params: [] },
  { text: 'INSERT INTO backup_restored (restored_at) VALUES (?)', params: [now] },
]

const findNotes = sql('backup.restored', 'SELECT restored_at FROM backup_restored')
const removeNotes = sql('backup.restored-remove', 'DELETE FROM backup_restored WHERE restored_at >= ?')

export interface RestoreNotesParts extends Pick<Host, 'run' | 'request'> {
  readonly database: Database
}

export const createRestoreNotes = ({ database, run, request }: RestoreNotesParts) => ({
  /** Call it when the audit trail takes events. */
  async record(): Promise<void> {
    if ((await database.get(findNotes, [])) === undefined) return
    await database.transact(async (transaction) => {
      const notes = await transaction.all(findNotes, [])
      await transaction.run(removeNotes, [0])
      for (const _note of notes)
        await run.onAudit?.({
          request: request({ caller: { kind: 'internal' }, purpose: 'backup' }),
          interaction: { kind: 'restore' },
          status: 200,
          transaction,
        })
    })
  },
})
