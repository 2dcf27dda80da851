/**
 * `server migrate --status | --dry-run`: prints what is recorded in the database and what a start of this build would
 * do. Changes nothing and creates no file. Exit codes: 0 the server would start, 1 it would refuse to, 2 the database
 * could not be read or the arguments were wrong. Spec: Command line, Errors.
 */
import { Command, Flags } from '@oclif/core'
import { BUILD, commandContext, type SchemaChange } from '../../../kernel/index.ts'
import { MigrateArguments, SchemaUnreadable } from '../errors.ts'
import { readSchema } from '../read-schema.ts'
import { planSchema, type SchemaPlan } from '../schema.ts'
import { checkWritable } from '../sqlite/inspect.ts'
import { checkSingleName } from '../sqlite/single-name.ts'

const WOULD_REFUSE = 1
const UNREADABLE = 2

const sqlOf = ({ sql }: SchemaChange, kind: string): readonly string[] =>
  'sqlite' in sql ? sql[kind === 'postgres' ? 'postgres' : 'sqlite'] : sql

const asStatus = ({ recorded, pending, orphaned }: SchemaPlan): string[] => [
  `recorded: ${recorded.length}`,
  ...recorded.map(
    ({ name, executed_at }) => `  ${name}  ${executed_at}${orphaned.includes(name) ? '  (plugin not loaded)' : ''}`,
  ),
  `this build (${BUILD}) would apply: ${pending.length}`,
  ...pending.map(({ name }) => `  ${name}`),
]

const asSql = ({ pending }: SchemaPlan, kind: string): string[] =>
  pending.flatMap((change) => ['', `-- ${change.name}`, ...sqlOf(change, kind).map((statement) => `${statement};`)])

export default class Migrate extends Command {
  static override summary = 'Reports the schema of the database and what a start of this build would do to it.'
  static override flags = {
    status: Flags.boolean({ description: 'List the versions recorded and those this build would apply.' }),
    'dry-run': Flags.boolean({ description: 'The same, with the SQL that would run.' }),
  }

  override async run(): Promise<void> {
    const { flags } = await this.parse(Migrate)
    if (flags.status === flags['dry-run']) throw MigrateArguments()
    const { settings, plugins, kernel, stdout, stderr } = commandContext(this)
    const decoded = settings()
    const database = decoded.section('database')
    const kind = String(database.kind)
    const { log } = await kernel()
    const recorded = await readSchema(database, log).catch((error: Error) => {
      stderr.write(`${SchemaUnreadable(error.message).message}\n`)
      return this.exit(UNREADABLE)
    })
    let plan: SchemaPlan
    try {
      plan = planSchema(recorded, plugins, BUILD, String(decoded.section('fhir').version))
    } catch (error) {
      stderr.write(`${(error as Error).message}\n`)
      return this.exit(WOULD_REFUSE)
    }
    const lines = [...asStatus(plan), ...(flags['dry-run'] ? asSql(plan, kind) : [])]
    stdout.write(`${lines.join('\n')}\n`)
    if (kind === 'memory') return
    try {
      if (kind === 'sqlite') {
        const path = String(database.sqlite_path)
        checkWritable(path)
        checkSingleName(path)
      } else {
        const { checkStart } = await import('../postgres/check-start.ts')
        await checkStart(String(database.postgres_url), plan.pending.length > 0, log)
      }
    } catch (error) {
      stderr.write(`${(error as Error).message}\n`)
      this.exit(WOULD_REFUSE)
    }
  }
}
