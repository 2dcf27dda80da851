/** `server` as a command of oclif: for its help, and for arguments that `plainFlags` does not read. */
import { Command } from '@oclif/core'
import { ownContext } from './context.ts'
import { serve } from './serve.ts'

export class Serve extends Command {
  static override summary = 'Serves until it is interrupted; what server does without a command.'
  static override usage = '[FLAGS]'

  override async run(): Promise<void> {
    await this.parse(Serve)
    await serve(ownContext(this))
  }
}
