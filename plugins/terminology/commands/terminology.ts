/**
 * `server terminology pull`: pulls code systems, value sets and concept maps from [terminology] urls into the configured database.
 * `server terminology load PATH…`: puts the files of a release of SNOMED CT or LOINC, or a CodeSystem, into its terminology index.
 * Either may be interrupted: the same command goes on where it was. Exit codes: 0 all is done, 1 a source was not pulled or it is
 * not done, 2 wrong arguments or files, or the database cannot be opened.
 */
import { Args, Command, Flags } from '@oclif/core'
import {
  commandContext,
  counted,
  isServerError,
  type Kernel,
  progressLine,
  systemClock,
} from '../../../kernel/index.ts'
import { isOpenElsewhere, lookForDatabase } from '../../database/service.ts'
import type { LoadFlags } from '../load/load-release.ts'
import { type PullSummary, TerminologyIndex, TerminologyPull } from '../service.ts'

const NOT_DONE = 1
const UNREADABLE = 2
const LOOK_MS = 500

type Fail = (message: string, code: number) => never

export default class TerminologyCommand extends Command {
  static override summary = 'Pulls terminology from other servers, or loads a release of SNOMED CT or LOINC.'
  static override description =
    'pull: from [terminology] urls, or those of --terminology; goes on with an interrupted pull. load PATH…: a zip file as it was downloaded, or its folder; several for an edition with extensions; or a CodeSystem as JSON. Stop the server on this database first.'
  static override strict = false
  static override args = {
    action: Args.string({ required: true, options: ['pull', 'load'], description: 'What to do.' }),
    path: Args.string({ description: 'load: a zip file, a folder or a file; several may follow.' }),
  }
  static override flags = {
    all: Flags.boolean({
      description: 'pull: everything, not only what was changed, and removes what a source deleted.',
    }),
    'dry-run': Flags.boolean({ description: 'load: reads and checks all files and stores nothing.' }),
    language: Flags.string({ description: 'load: language of the displays of SNOMED CT.', default: 'en' }),
    'system-version': Flags.string({ description: 'load: the version, where it is not that of the files.' }),
  }

  override async run(): Promise<void> {
    const { argv, args, flags } = await this.parse(TerminologyCommand)
    const { stderr, stdout } = commandContext(this)
    const fail: Fail = (message, code) => {
      stderr.write(`server: ${message}\n`)
      return this.exit(code)
    }
    if (args.action === 'pull') return this.#pullAll(argv.slice(1) as string[], flags.all, fail)
    const paths = argv.slice(1) as string[]
    if (paths.length === 0) fail('there is nothing to load; give the path of a release', UNREADABLE)
    const load: LoadFlags = { paths, language: flags.language, version: flags['system-version'] }
    const { checkRelease, loadRelease } = await import('../load/load-release.ts')
    if (flags['dry-run'])
      return checkRelease(load, stdout).catch((error: Error) => void fail(error.message, UNREADABLE))
    await this.#with(fail, async (kernel) => {
      try {
        await loadRelease(load, kernel.get(TerminologyIndex), stdout)
      } catch (error) {
        if (isServerError(error) && error.status === 400) fail(error.message, UNREADABLE)
        fail(`not done, run it again to go on: ${(error as Error).message}`, NOT_DONE)
      }
    })
  }

  async #pullAll(rest: readonly string[], isAll: boolean, fail: Fail): Promise<void> {
    const { urls } = commandContext(this).settings().section('terminology') as { urls: readonly string[] }
    if (rest.length > 0) fail(`pull takes no path, and got ${rest.join(' ')}`, UNREADABLE)
    if (urls.length === 0) fail('there is nothing to pull from; give --terminology URL', UNREADABLE)
    await this.#with(fail, async (kernel) => {
      const { failed } = await this.#pull(kernel, isAll, fail)
      if (failed > 0) this.exit(NOT_DONE)
    })
  }

  /** Does the work with a server without a port, which no other process may have beside it. */
  async #with(fail: Fail, work: (kernel: Kernel) => Promise<void>): Promise<void> {
    const { settings, kernel: createKernel } = commandContext(this)
    const database = settings().section('database') as { kind: string; sqlite_path: string }
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
      await work(kernel)
    } finally {
      await kernel.stop()
    }
  }

  /** Exits where the database cannot be opened, or another server writes into it. */
  async #start(fail: Fail): Promise<Kernel> {
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

  async #pull(kernel: Kernel, isAll: boolean, fail: Fail): Promise<PullSummary> {
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
