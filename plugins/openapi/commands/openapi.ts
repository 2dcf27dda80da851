/**
 * `server openapi`: prints the OpenAPI document of the configured server without serving. The database is opened, because
 * the installed packages and search parameters are in it. Exit codes: 0 printed, 1 the database is not there or cannot be used,
 * 2 wrong arguments.
 */
import { Command } from '@oclif/core'
import { commandContext, isServerError, type Kernel } from '../../../kernel/index.ts'
import { lookForDatabase } from '../../database/service.ts'
import { OpenApi } from '../service.ts'

const FAILED = 1

export default class OpenApiCommand extends Command {
  static override summary = 'Prints the OpenAPI document of this server, without serving.'

  override async run(): Promise<void> {
    await this.parse(OpenApiCommand)
    const { settings, kernel, stdout, stderr } = commandContext(this)
    let made: Kernel | undefined
    try {
      made = await kernel({ only: ['openapi'], log: { level: 'silent' } })
      const database = settings().section('database') as { kind: string; sqlite_path: string }
      // A command does not create a database, as the path may be mistyped.
      if (database.kind !== 'memory') await lookForDatabase({ ...database }, made.log)
      await made.start()
      stdout.write(`${await made.get(OpenApi).text()}\n`)
    } catch (error) {
      if (!isServerError(error)) throw error
      stderr.write(`server: ${error.message}\n`)
      this.exit(FAILED)
    } finally {
      await made?.stop()
    }
  }
}
