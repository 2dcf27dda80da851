/**
 * `server jobs list | show ID | cancel ID`: the jobs of the configured database. A server on PostgreSQL notices that its
 * job was cancelled within five seconds; a SQLite file must not be open elsewhere to cancel. Prints JSON lines. Exit codes:
 * 0 done, 1 refused, 2 wrong arguments, or the database cannot be opened.
 */
import { Args, Command } from '@oclif/core'
import { commandContext, isServerError, type Kernel, systemClock } from '../../../kernel/index.ts'
import { Database, isOpenElsewhere, lookForDatabase } from '../../database/service.ts'
import { JobEnded, JobsInUse, JobUnknown } from '../errors.ts'
import { move } from '../move-job.ts'
import { type JobRow, listJobs, readJob } from '../tables.ts'
import { TIMES } from '../times.ts'

const REFUSED = 1
const UNREADABLE = 2

const timeOf = (ms: number): string | undefined => (Number(ms) === 0 ? undefined : new Date(Number(ms)).toISOString())

/** Without the specification, which `show` adds: it may hold ids of patients. */
const lineOf = ({ id, kind, state, client, person, starts, progress, error, created, ended, expires }: JobRow) => ({
  ...{ id, kind, state },
  ...(client !== '' && { client }),
  ...(person !== '' && { user: person }),
  starts: Number(starts),
  ...(progress !== '' && { progress }),
  ...(error !== '' && { error }),
  created: timeOf(created),
  ended: timeOf(ended),
  expires: timeOf(expires),
})

export default class JobsCommand extends Command {
  static override summary = 'Lists, shows and cancels jobs of the database.'
  static override args = {
    action: Args.string({ required: true, options: ['list', 'show', 'cancel'], description: 'What to do.' }),
    id: Args.string({ description: 'Id of the job.' }),
  }

  override async run(): Promise<void> {
    const { args } = await this.parse(JobsCommand)
    const { settings, kernel, stdout, stderr } = commandContext(this)
    const fail = (message: string, code: number): never => {
      stderr.write(`server: ${message}\n`)
      return this.exit(code)
    }
    if ((args.action === 'list') !== (args.id === undefined))
      fail('server jobs show and cancel take the id of a job, and list takes none', UNREADABLE)
    const section = settings().section('database') as { kind: string; sqlite_path: string }
    if (section.kind === 'memory')
      fail('a database in memory has no jobs to list; give --sqlite or --postgres', UNREADABLE)
    const print = (line: object): void => void stdout.write(`${JSON.stringify(line)}\n`)
    let made: Kernel | undefined
    try {
      made = await kernel({ only: ['database'], log: { level: 'silent' } })
      await lookForDatabase({ ...section }, made.log)
    } catch (error) {
      if (!isServerError(error)) throw error
      fail(error.message, UNREADABLE)
    }
    const opened = made as Kernel
    try {
      const id = args.id ?? ''
      if (args.action === 'list')
        for (const row of await opened.get(Database).readOnly(async (reader) => reader.all<JobRow>(listJobs, [])))
          print(lineOf(row))
      else if (args.action === 'show') print(await this.#show(opened, id))
      else {
        if (section.kind === 'sqlite' && (await isOpenElsewhere(section.sqlite_path)))
          throw JobsInUse(section.sqlite_path)
        await opened.start()
        await this.#cancel(opened.get(Database), id)
        print({ id, state: 'cancelled' })
      }
    } catch (error) {
      if (!isServerError(error) && (error as { code?: string }).code === undefined) throw error
      fail((error as Error).message, REFUSED)
    } finally {
      await opened.stop()
    }
  }

  async #show(kernel: Kernel, id: string): Promise<object> {
    const [row] = await kernel.get(Database).readOnly(async (reader) => reader.all<JobRow>(readJob, [id]))
    if (row === undefined) throw JobUnknown(id.slice(0, 64))
    return { ...lineOf(row), spec: JSON.parse(row.spec) as unknown }
  }

  #cancel(database: Database, id: string): Promise<void> {
    const now = systemClock.now()
    return database.transact(
      async (transaction) => {
        const row = await transaction.get<JobRow>(readJob, [id])
        if (row === undefined) throw JobUnknown(id.slice(0, 64))
        const { state, server, starts } = row
        if (state !== 'queued' && state !== 'running') throw JobEnded(id, state)
        await move(
          transaction,
          { id, state, server, starts },
          { state: 'cancelled', ended: now, expires: now + TIMES.kept },
        )
      },
      { shared: true },
    )
  }
}
