/**
 * `server import PATH…`: stores the resources of files in the configured database. It may be interrupted: the same
 * command goes on where it was. Exit codes: 0 all was stored, 1 something was refused or it is not done, 2 wrong arguments or
 * the database cannot be opened.
 */
import { Args, Command, Flags } from '@oclif/core'
import { commandContext, counted, type Kernel, progressLine, systemClock } from '../../../kernel/index.ts'
import { isOpenElsewhere, lookForDatabase } from '../../database/service.ts'
import { type ErrorsFile, isAmong, openErrorsFile } from '../errors-file.ts'
import { findSources } from '../find-sources.ts'
import { toErrorLine } from '../refused-record.ts'
import { Importing, type ImportOptions, type ImportSummary, type RefusedRecord } from '../service.ts'

const NOT_DONE = 1
const UNREADABLE = 2
const SHOWN = 5 // refusals that are printed; all of them are in the file of --errors
const LOOK_MS = 500

export default class ImportCommand extends Command {
  static override summary = 'Stores the resources of files; resumes an interrupted import.'
  static override description =
    'Files: NDJSON, JSON with a resource or a Bundle, each also as .gz, and .tar, .tar.gz and .tgz with such files; of a directory all of them. Stop the server on this database first.'
  static override strict = false
  static override args = {
    path: Args.string({ required: true, description: 'A file or a directory; several may follow.' }),
  }
  static override flags = {
    errors: Flags.string({
      description: 'File for refused records: an OperationOutcome in each line.',
      helpValue: 'FILE',
    }),
    'dry-run': Flags.boolean({ description: 'Checks all records and stores nothing.' }),
    again: Flags.boolean({ description: 'Imports files that were imported before once more.' }),
    parallel: Flags.integer({ description: 'Transactions at once.', default: 4, min: 1, max: 64 }),
  }

  override async run(): Promise<void> {
    const { argv, flags } = await this.parse(ImportCommand)
    const { settings, kernel: createKernel, stderr } = commandContext(this)
    const say = (line: string): void => void stderr.write(`server: ${line}\n`)
    const { kind, sqlite_path } = settings().section('database') as { kind: string; sqlite_path: string }
    const paths = argv as string[]
    try {
      findSources(paths)
    } catch (error) {
      say((error as Error).message)
      this.exit(UNREADABLE)
    }
    if (kind === 'memory') {
      say('a database in memory ends with this command; give --sqlite or --postgres')
      this.exit(UNREADABLE)
    }
    try {
      await lookForDatabase(settings().section('database'), (await createKernel()).log)
    } catch (error) {
      say((error as Error).message)
      this.exit(UNREADABLE)
    }
    if (kind === 'sqlite' && (await isOpenElsewhere(sqlite_path))) {
      say(`another process has ${sqlite_path} open; stop that server first`)
      this.exit(NOT_DONE)
    }
    const { 'dry-run': isDryRun, again: isAgain, parallel } = flags
    const file = flags.errors === undefined ? undefined : this.#openErrors(flags.errors, paths, say)
    try {
      const kernel = await this.#start(say)
      try {
        const summary = await this.#store(kernel, { paths, isDryRun, isAgain, parallel }, file)
        if (summary.failed > 0) this.exit(NOT_DONE)
      } finally {
        await kernel.stop()
      }
    } finally {
      file?.end()
    }
  }

  #openErrors(path: string, paths: readonly string[], say: (line: string) => void): ErrorsFile {
    if (isAmong(path, paths)) {
      say(`--errors ${path} lies in what is imported, and would be imported too; name a file elsewhere`)
      this.exit(UNREADABLE)
    }
    try {
      return openErrorsFile(path)
    } catch (error) {
      say(`--errors ${path} cannot be written: ${(error as Error).message}`)
      return this.exit(UNREADABLE)
    }
  }

  /** Starts a server without a port. Exits where the database cannot be opened, or another server writes into it. */
  async #start(say: (line: string) => void): Promise<Kernel> {
    const kernel = await commandContext(this).kernel({ log: { level: 'silent' } })
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
      say(isHeld ? 'another server writes into this database; stop it first' : (error as Error).message)
      return this.exit(isHeld ? NOT_DONE : UNREADABLE)
    } finally {
      clearInterval(look)
    }
  }

  async #store(kernel: Kernel, options: ImportOptions, file: ErrorsFile | undefined): Promise<ImportSummary> {
    const { stdout, stderr } = commandContext(this)
    const line = progressLine(stdout, systemClock)
    let shown = 0
    const refused = (record: RefusedRecord): void => {
      file?.add(record)
      shown += 1
      if (shown <= SHOWN) line.say(toErrorLine(record).issue[0]?.diagnostics ?? '')
    }
    try {
      const summary = await kernel.get(Importing).run(options, {
        resumed: (name, resources) => line.say(`${name}: going on behind ${counted(resources, 'resource')}`),
        skipped: (name, { finished, failed }) =>
          line.say(
            `${name}: left out, it was imported on ${new Date(finished).toISOString()}${failed === 0 ? '' : ` with ${counted(failed, 'record')} refused`}; --again imports it again`,
          ),
        again: (records) => line.say(`${counted(records, 'record')} with unresolved references: trying again`),
        progress: ({ name, ...step }) => line.step({ ...step, label: name }),
        refused,
      })
      const { resources, failed } = summary
      const what = options.isDryRun ? 'checked, nothing was stored' : 'imported'
      line.end(
        `${counted(resources, 'resource')} ${what}${failed === 0 ? '' : `, ${counted(failed, 'record')} refused`}`,
      )
      if (failed > SHOWN && file === undefined) stderr.write('server: give --errors FILE for all refusals\n')
      return summary
    } catch (error) {
      line.end()
      stderr.write(`server: not done, run it again to go on: ${(error as Error).message}\n`)
      return this.exit(NOT_DONE)
    }
  }
}
