/** Errors of `server backup` and `server restore`. */
import { defineError } from '../../kernel/index.ts'

export const BackupExists = defineError(
  'backup/exists',
  500,
  'exception',
  '%s exists and was left unchanged. Give the backup another name, or remove that file.',
)
export const BackupFolder = defineError(
  'backup/folder',
  500,
  'exception',
  'The backup cannot be written to %s, because there is no such folder. Make it first, or give another name.',
)
export const BackupMissing = defineError('backup/missing', 500, 'exception', 'There is no backup %s.')
export const BackupUnusable = defineError('backup/unusable', 500, 'exception', '%s. Nothing was restored.')
export const RestoreOccupied = defineError(
  'backup/occupied',
  500,
  'exception',
  '%s exists: a restore overwrites nothing. Move the old database away with all files whose names begin like that, or give another path with --sqlite.',
)
export const BackupPostgres = defineError(
  'backup/postgres',
  500,
  'exception',
  'The database is of the kind %s, which this command does not copy. PostgreSQL has pg_dump and pg_basebackup; see plugins/backup/README.md.',
)
