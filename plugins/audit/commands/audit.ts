/**
 * `server audit verify`: checks the hash chain of the database, whether a server runs on it or not. Prints the verdict
 * as JSON. Exit codes: 0 the chain is intact, 1 it is broken, 2 it could not be read or the arguments were wrong.
 */
import { Args, Command, Flags } from '@oclif/core'
import { commandContext } from '../../../kernel/index.ts'
import { Database, lookForDatabase } from '../../database/service.ts'
import { VerifyArguments } from '../errors.ts'
import { verifyTrail } from '../verify/walk.ts'

const BROKEN = 1
const UNREADABLE = 2

export default class Audit extends Command {
  static override summary = 'Checks the hash chain of the audit trail.'
  static override args = { action: Args.string({ required: true, options: ['verify'], description: 'What to do.' }) }
  static override flags = {
    seq: Flags.integer({ description: 'Number of a checkpoint from the log.', min: 0 }),
    mac: Flags.string({ description: 'Its mac.' }),
  }

  override async run(): Promise<void> {
    const { flags } = await this.parse(Audit)
    const { seq, mac } = flags
    const { settings, kernel, stdout, stderr } = commandContext(this)
    const { key, previous_keys } = settings().section('audit') as { key?: string; previous_keys: string[] }
    try {
      if ((seq === undefined) !== (mac === undefined)) throw VerifyArguments()
      const checkpoint = seq === undefined || mac === undefined ? undefined : { seq, mac: mac.toLowerCase() }
      const made = await kernel()
      await lookForDatabase(settings().section('database'), made.log)
      const database = made.get(Database)
      const verdict = await database.readOnly((reader) =>
        verifyTrail(reader, { key, previousKeys: previous_keys, checkpoint }),
      )
      stdout.write(`${JSON.stringify(verdict)}\n`)
      if (verdict.ok) return
    } catch (error) {
      stderr.write(`${(error as Error).message}\n`)
      this.exit(UNREADABLE)
    }
    this.exit(BROKEN)
  }
}
