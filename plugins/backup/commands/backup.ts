/**
 * `server backup FILE`: copies the configured SQLite database to a new file, also while a server uses it, and checks the
 * copy. Exit codes: 0 done, 1 not done, 2 wrong arguments or the database cannot be opened.
 */
import { existsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { Args, Command } from '@oclif/core'
import { commandContext, progressLine, systemClock } from '../../../kernel/index.ts'
import { backUpFile, lookForDatabase } from '../../database/service.ts'
import { BackupExists, BackupFolder, BackupPostgres } from '../errors.ts'

const NOT_DONE = 1
const UNREADABLE = 2

export default class BackupCommand extends Command {
  static override summary = 'Copies the SQLite database to a new file, while a server may use it.'
  static override args = { file: Args.string({ required: true, description: 'The file to make.' }) }

  override async run(): Promise<void> {
    const { args } = await this.parse(BackupCommand)
    const { settings, kernel, stdout, stderr } = commandContext(this)
    const section = settings().section('database') as { kind: string; sqlite_path: string }
    const refuse = (code: number, error: unknown): never => {
      stderr.write(`server: ${(error as Error).message}\n`)
      return this.exit(code)
    }
    if (section.kind !== 'sqlite') refuse(UNREADABLE, BackupPostgres(section.kind))
    await lookForDatabase(section, (await kernel()).log).catch((error) => refuse(UNREADABLE, error))
    if (existsSync(args.file)) refuse(NOT_DONE, BackupExists(args.file))
    if (!existsSync(dirname(args.file))) refuse(NOT_DONE, BackupFolder(args.file))
    const line = progressLine(stdout, systemClock)
    try {
      await backUpFile(section.sqlite_path, args.file, ({ done, total }) => line.step({ label: 'pages', done, total }))
      line.end(`${args.file}: ${statSync(args.file).size} bytes, checked`)
    } catch (error) {
      line.end()
      refuse(NOT_DONE, (error as { code?: unknown }).code === 'EEXIST' ? BackupExists(args.file) : error)
    }
  }
}
