/**
 * `server reindex [--type X] [--param code]`: rebuilds the search index of the configured database, as a job. Where servers
 * use the database, one of them works on it; otherwise this process does. It may be interrupted: the same command resumes
 * it, and so does a server. Exit codes: 0 done, 1 not done
 * (another process has the SQLite file open, or an error occurred), 2 wrong arguments or the database cannot be
 * opened.
 */
import { Command, Flags } from '@oclif/core'
import {
  commandContext,
  counted,
  isServerError,
  type Kernel,
  progressLine,
  systemClock,
} from '../../../kernel/index.ts'
import { isOpenElsewhere, lookForDatabase } from '../../database/service.ts'
import { Reindexing } from '../../search/service.ts'
import { ReindexJobs } from '../service.ts'

const NOT_DONE = 1
const UNREADABLE = 2

export default class ReindexCommand extends Command {
  static override summary = 'Rebuilds the search index; resumes an interrupted reindex.'
  static override flags = {
    type: Flags.string({ description: 'Only parameters of this resource type.' }),
    param: Flags.string({ description: 'Only parameters with this code.' }),
  }

  override async run(): Promise<void> {
    const { flags } = await this.parse(ReindexCommand)
    const { settings, kernel: createKernel, stdout, stderr } = commandContext(this)
    const say = (line: string): void => void stderr.write(`server: ${line}\n`)
    const { kind, sqlite_path } = settings().section('database') as { kind: string; sqlite_path: string }
    if (kind === 'memory') {
      say('a database in memory has nothing to reindex; give --sqlite or --postgres')
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
    // Starts only the search and jobs: other plugins would take leases, write audit trails and run jobs of other kinds as
    // a running server does.
    const kernel: Kernel = await createKernel({ only: ['reindex'], log: { level: 'silent' } })
    kernel.get(Reindexing).deferIndexing()
    try {
      await kernel.start()
    } catch (error) {
      say((error as Error).message)
      this.exit(UNREADABLE)
    }
    const line = progressLine(stdout, systemClock)
    try {
      const { resources } = await kernel.get(ReindexJobs).run(
        { type: flags.type, param: flags.param },
        {
          offered: () => line.say('other processes use this database: waiting for a server to do it'),
          elsewhere: (progress) => progress !== '' && line.say(`a server works on it: ${progress}`),
          resumed: () => line.say('going on where the last one was interrupted'),
          waiting: (ms) =>
            line.say(
              `servers that use this database have ${ms / 1000} s to notice; until it is done they refuse such searches`,
            ),
          step: ({ type, done, total }) => line.step({ label: type, done, total }),
        },
      )
      line.end(`reindexed ${counted(resources, 'resource')}`)
    } catch (error) {
      line.end()
      if (isServerError(error) && error.key === 'fhir/reindex-unknown') throw error
      say(`not done, run it again to go on: ${(error as Error).message}`)
      this.exit(NOT_DONE)
    } finally {
      await kernel.stop()
    }
  }
}
