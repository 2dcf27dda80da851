/** `server plugin new NAME`: writes the package of a plugin into a new folder. Exit codes: 0 done, 1 not done, 2 refused. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Args, Command } from '@oclif/core'
import { messageOf } from '../../kernel/message-of.ts'
import { ownContext } from '../context.ts'
import { FAILED, REFUSED, StartFailed } from '../start-failure.ts'
import { pluginFiles } from './plugin-files.ts'
import { readPluginName } from './read-plugin-name.ts'

export class PluginCommand extends Command {
  static override summary = 'Writes the package of a new plugin, with its test, into a folder of its name.'
  static override args = {
    action: Args.string({ required: true, options: ['new'], description: 'What to do.' }),
    name: Args.string({ required: true, description: 'Name of the package: tally, or @acme/tally.' }),
  }

  override async run(): Promise<void> {
    const { args } = await this.parse(PluginCommand)
    const { world, plugins, stdout } = ownContext(this)
    const names = readPluginName(args.name, new Set(plugins.map(({ name }) => name)))
    if (typeof names === 'string') throw new StartFailed(names, REFUSED)
    const folder = join(world.folder, names.plugin)
    try {
      mkdirSync(folder)
    } catch (error) {
      const isThere = (error as NodeJS.ErrnoException).code === 'EEXIST'
      throw isThere
        ? new StartFailed(`${folder} is already there; choose another name, or another folder to write into`, REFUSED)
        : new StartFailed(`${folder} cannot be made: ${messageOf(error)}`, FAILED)
    }
    for (const [file, text] of pluginFiles(names)) {
      mkdirSync(dirname(join(folder, file)), { recursive: true })
      writeFileSync(join(folder, file), text)
    }
    stdout.write(
      `${folder}: the package ${names.package} with a plugin that works\n\n` +
        `  cd ${names.plugin}\n  npm install\n  npm test\n\n` +
        `Its README.md says how a server loads it.\n`,
    )
  }
}
