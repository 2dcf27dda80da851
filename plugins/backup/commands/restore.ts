/**
 * `server restore FILE`: makes the configured SQLite database of a backup. There must be none. Exit codes: 0 done, 1 not
 * done, 2 wrong arguments or no backup of this server.
 */
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { Args, Command } from '@oclif/core'
import { commandContext, systemClock } from '../../../kernel/index.ts'
import { findOccupant, inspectFile, restoreFile } from '../../database/service.ts'
import { BackupMissing, BackupPostgres, BackupUnusable, RestoreOccupied } from '../errors.ts'
import { noteStatements } from '../restore-notes.ts'

const NOT_DONE = 1
const UNREADABLE = 2

/** The first sentence: the others speak of a start. */
const reasonOf = (error: unknown): string => (error as Error).message.split('. ', 1)[0] as string

export default class RestoreCommand extends Command {
  static override summary = 'Makes the SQLite database of a backup, where there is none yet.'
  static override args = { file: Args.string({ required: true, description: 'A file that server backup has made.' }) }

  override async run(): Promise<void> {
    const { args } = await this.parse(RestoreCommand)
    const { settings, stdout, stderr } = commandContext(this)
    const { kind, sqlite_path: path } = settings().section('database') as { kind: string; sqlite_path: string }
    const refuse = (code: number, error: unknown): never => {
      stderr.write(`server: ${(error as Error).message}\n`)
      return this.exit(code)
    }
    if (kind !== 'sqlite') refuse(UNREADABLE, BackupPostgres(kind))
    if (!existsSync(args.file)) refuse(UNREADABLE, BackupMissing(args.file))
    const found = await inspectFile(args.file).catch((error) => refuse(UNREADABLE, BackupUnusable(reasonOf(error))))
    if (found === 'new') refuse(UNREADABLE, BackupUnusable(`${args.file} is empty`))
    const occupant = await findOccupant(path)
    if (occupant !== undefined) refuse(NOT_DONE, RestoreOccupied(occupant))
    const now = systemClock.now()
    try {
      await restoreFile(args.file, path, { statements: noteStatements(now), token: randomUUID(), now: new Date(now) })
    } catch (error) {
      refuse(NOT_DONE, (error as { code?: unknown }).code === 'EEXIST' ? RestoreOccupied(path) : error)
    }
    stdout.write(`${path} is what ${args.file} has; the next start says so in the audit trail\n`)
  }
}
