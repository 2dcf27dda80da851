/** `server plugins`: lists all plugins in the order of set-up, with what each adds. Opens and starts nothing. */
import { Command, Flags } from '@oclif/core'
import type { PluginDescription } from '../kernel/index.ts'
import { ownContext } from './context.ts'

const PARTS = ['needs', 'provides', 'hooks', 'settings', 'routes', 'commands'] as const

const asText = (plugin: PluginDescription): string => {
  const state = plugin.enabled ? '' : ' (off)'
  const lines = PARTS.filter((part) => plugin[part].length > 0).flatMap((part) =>
    plugin[part].map((item, at) => `  ${(at === 0 ? part : '').padEnd(9)} ${item}`),
  )
  return [`${plugin.name}${state}  ${plugin.description}`.trimEnd(), ...lines, ''].join('\n')
}

export class ShowPlugins extends Command {
  static override summary = 'Prints the plugins in order, with their hooks, settings, routes and commands.'
  static override flags = { json: Flags.boolean({ description: 'Print JSON.' }) }

  override async run(): Promise<void> {
    const { flags } = await this.parse(ShowPlugins)
    const { kernel, stdout } = ownContext(this)
    const plugins = await (await kernel()).describe()
    stdout.write(flags.json ? `${JSON.stringify(plugins, null, 2)}\n` : plugins.map(asText).join('\n'))
  }
}
