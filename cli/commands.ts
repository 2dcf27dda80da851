/** The commands serve, config, plugins and plugin, and those of all plugins. */
import type { Command } from '@oclif/core'
import { defineError } from '../kernel/define-error.ts'
import type { AnyPlugin } from '../kernel/index.ts'

export const CommandTwice = defineError(
  'cli/command-twice',
  500,
  'exception',
  'The plugins "%s" and "%s" both bring the command "%s".',
)

/** Loads the class of a command. Called only for the command that runs, or for all of them by help. */
export type LoadCommand = () => Promise<Command.Class>

const ours: Readonly<Record<string, LoadCommand>> = {
  serve: async () => (await import('./serve-command.ts')).Serve,
  config: async () => (await import('./config.ts')).ShowConfig,
  plugins: async () => (await import('./plugins.ts')).ShowPlugins,
  plugin: async () => (await import('./new-plugin/plugin-command.ts')).PluginCommand,
}

/** Name → loader. Throws `CommandTwice`. */
export const commandsOf = (plugins: readonly AnyPlugin[]): ReadonlyMap<string, LoadCommand> => {
  const commands = new Map<string, { owner: string; load: LoadCommand }>()
  const add = (owner: string, name: string, load: LoadCommand): void => {
    const other = commands.get(name)
    if (other !== undefined) throw CommandTwice(other.owner, owner, name)
    commands.set(name, { owner, load })
  }
  for (const [name, load] of Object.entries(ours)) add('cli', name, load)
  add('cli', 'help', ours.serve!) // reserves the name; `server help` is handled before
  for (const plugin of plugins)
    for (const [name, load] of Object.entries(plugin.commands ?? {})) add(plugin.name, name, load as LoadCommand)
  commands.delete('help')
  return new Map([...commands].map(([name, { load }]) => [name, load]))
}
