/**
 * `server terminology pull`: pulls code systems, value sets and concept maps from [terminology] urls into the configured database.
 * It may be interrupted: the same command goes on where it was, and so does a server. Exit codes: 0 all was pulled, 1 a source
 * was not or it is not done, 2 wrong arguments or the database cannot be opened.
 */
import { Args, Command, Flags } from '@oclif/core'
import { commandContext, counted, type Kernel, progressLine, systemClock } from '../../../kernel/index.ts'
import { isOpenElsewhere, lookForDatabase } from '../../database/service.ts'
import { type PullSummary, TerminologyPull } from '../service.ts'

const NOT_DONE = 1
const UNREADABLE = 2
const LOOK_MS = 500

export default class TerminologyCommand extends Command {
  static override summary = 'Pulls code systems, value sets and concept maps from other servers.'
  static override description =
    'From [terminology] urls, or those of --terminology. Goes on with an interrupted pull. Stop the server on this database first.'
  static override args = { action: Args.string({ required: true, options: ['pull'], description: 'What to do.' }) }
  static override flags = {
    all: Flags.boolean({
      description: 'Pulls everything, not only what was changed, and removes what a source deleted.',
    }),
  }

  override async run(): Promise<void> {
    const { flags } = await this.parse(TerminologyCommand)
    const { settings, kernel: createKernel, stderr } = commandContext(this)
    const fail = (message: string, code: number): never => {
      stderr.write(`server: ${message}\n`)
      return this.exit(code)
    }
    const { urls } = settings().section('terminology') as { urls: readonly string[] }
    const database = settings().section('database') as { kind: string; sqlite_path: string }
    if (urls.length === 0) fail('there is nothing to pull from; give --terminology URL', UNREADABLE)
    if (database.kind === 'memory')
      fail('a database in memory ends with this command; give --sqlite or --postgres', UNREADABLE)
    try {
      await lookForDatabase(settings().section('database'), (await createKernel()).log)
    } catch (error) {
      fail((error as Error).message, UNREADABLE)
    }
    if (database.kind === 'sqlite' && (await isOpenElsewhere(database.sqlite_path)))
      fail(`another process has ${database.sqlite_path} open; stop that server first`, NOT_DONE)
    const kernel = await this.#start(fail)
    try {
      const { failed } = await this.#pull(kernel, flags.all, fail)
      if (failed > 0) this.exit(NOT_DONE)
    } finally {
      await kernel.stop()
    }
  }

  /** Starts a server without a port. Exits where the database cannot be opened, or another server writes into it. */
  async #start(fail: (message: string, code: number) => never): Promise<Kernel> {
    const kernel = await commandContext(this).kernel({ log: { level: 'silent' } })
    kernel.get(TerminologyPull).defer()
    let isHeld = false
    const look = setInterval(async () => {
      const state = await kernel.readiness()
      if (state.status !== 'starting' || state.reason !== 'waiting for the writer lease') return
      isHeld = true
      await kernel.stop()
    }, LOOK_MS)
    try {
      await kernel.start()
      return kernel
    } catch (error) {
      return isHeld
        ? fail('another server writes into this database; stop it first', NOT_DONE)
        : fail((error as Error).message, UNREADABLE)
    } finally {
      clearInterval(look)
    }
  }

  async #pull(kernel: Kernel, isAll: boolean, fail: (message: string, code: number) => never): Promise<PullSummary> {
    const line = progressLine(commandContext(this).stdout, systemClock)
    try {
      const summary = await kernel.get(TerminologyPull).run(
        { isAll },
        {
          resumed: (label, seen) => line.say(`${label}: going on behind ${counted(seen, 'resource')}`),
          step: (step) => line.step(step),
          failed: (error) => line.say(error.message),
        },
      )
      line.end(`${counted(summary.resources, 'resource')} pulled`)
      return summary
    } catch (error) {
      line.end()
      return fail(`not done, run it again to go on: ${(error as Error).message}`, NOT_DONE)
    }
  }
}
