/**
 * `server expunge compact`: rewrites the SQLite file, so that nothing is left in it of what was erased. Exit codes: 0 done, 1 not
 * done, 2 wrong arguments or the database cannot be opened.
 */
import { statSync } from 'node:fs'
import { Args, Command } from '@oclif/core'
import { commandContext } from '../../../kernel/index.ts'
import { compactFile, isOpenElsewhere, lookForDatabase } from '../../database/service.ts'
import { CompactNotDone } from '../errors.ts'

const NOT_DONE = 1
const UNREADABLE = 2

export default class ExpungeCommand extends Command {
  static override summary = 'Rewrites the SQLite file, so that nothing is left of what $expunge erased.'
  static override args = {
    action: Args.string({ required: true, options: ['compact'], description: 'compact: rewrite the file' }),
  }

  override async run(): Promise<void> {
    await this.parse(ExpungeCommand)
    const { settings, kernel, stdout, stderr } = commandContext(this)
    const section = settings().section('database') as { kind: string; sqlite_path: string }
    const refuse = (code: number, error: unknown): never => {
      stderr.write(`server: ${(error as Error).message}\n`)
      return this.exit(code)
    }
    const { kind, sqlite_path: path } = section
    if (kind !== 'sqlite')
      refuse(UNREADABLE, CompactNotDone('Only a SQLite file is rewritten; PostgreSQL has VACUUM FULL for that.'))
    await lookForDatabase(section, (await kernel()).log).catch((error) => refuse(UNREADABLE, error))
    if (await isOpenElsewhere(path))
      refuse(NOT_DONE, CompactNotDone(`${path} is open in another process; stop the server first.`))
    try {
      await compactFile(path)
      stdout.write(`${path}: ${statSync(path).size} bytes, rewritten\n`)
    } catch (error) {
      refuse(NOT_DONE, error)
    }
  }
}
