/** The pages of `server --help` and `server <command> --help`, rendered by oclif. */
import { join } from 'node:path'
import { type Command, type Config, Help } from '@oclif/core'
import { PACKAGE_FOLDER } from '../kernel/build.ts'
import type { Setting } from '../kernel/settings/annotation.ts'
import type { LoadCommand } from './commands.ts'
import { configFlag, settingsFlags } from './flags.ts'

const DOCUMENTATION = `DOCUMENTATION
  ${join(PACKAGE_FOLDER, 'README.md')}       index of tasks
  ${join(PACKAGE_FOLDER, 'cli/README.md')}   commands, settings, exit codes, upgrade`

interface HelpStyle {
  readonly color: boolean
}

/** Uses oclif's formatting, but not its layout of a page. */
class Page extends Help {
  about(command: Command.Loadable): string {
    return this.formatCommand(command)
  }
  list(commands: Command.Loadable[]): string {
    return this.formatCommands(commands)
  }
}

const page = (oclif: Config, { color }: HelpStyle, sections?: string[]): Page =>
  new Page(oclif, {
    stripAnsi: !color,
    flagSortOrder: 'none',
    docopts: false,
    ...(sections === undefined ? {} : { sections }),
  } as ConstructorParameters<typeof Help>[1])

const loadable = (name: string, Loaded: Command.Class, settings: readonly Setting[]): Command.Loadable => {
  // Every command takes the flags of settings; only the help of serve shows them all.
  const flags = { ...Loaded.flags, ...configFlag, ...settingsFlags(settings, name !== 'serve') }
  const { summary, description, examples, hidden } = Loaded
  // oclif's pages read the name of each argument from it; ours have it as the key only.
  const args = Object.fromEntries(Object.entries(Loaded.args ?? {}).map(([key, arg]) => [key, { ...arg, name: key }]))
  return {
    id: name,
    summary,
    description,
    examples,
    args,
    flags: { ...flags, ...Loaded.flags },
    aliases: [],
    hiddenAliases: [],
    hidden: hidden ?? false,
    load: async () => Loaded,
  } as unknown as Command.Loadable
}

export const helpAbout = (
  oclif: Config,
  name: string,
  Loaded: Command.Class,
  settings: readonly Setting[],
  look: HelpStyle,
): string => {
  const command = loadable(name, Loaded, settings)
  const text = page(oclif, look).about(command)
  const more = name === 'serve' ? '' : '\nThe flags of settings are taken too; server --help lists them.\n'
  return `${Loaded.summary ?? ''}\n\n${text}\n${more}`
}

export const helpOverall = async (
  oclif: Config,
  commands: ReadonlyMap<string, LoadCommand>,
  settings: readonly Setting[],
  look: HelpStyle,
): Promise<string> => {
  const all = await Promise.all([...commands].map(async ([name, load]) => loadable(name, await load(), settings)))
  const serve = all.find((one) => one.id === 'serve')!
  const listed = all.filter((one) => !one.hidden).sort((a, b) => a.id.localeCompare(b.id))
  const usage = 'USAGE\n  $ server [FLAGS]            serves until it is interrupted\n  $ server COMMAND [FLAGS]'
  const version = 'server --version prints the version, server COMMAND --help describes one command.'
  return [
    oclif.pjson.description,
    usage,
    page(oclif, look).list(listed),
    page(oclif, look, ['flags']).about(serve),
    DOCUMENTATION,
    version,
    '',
  ]
    .join('\n\n')
    .replace(/\n+$/, '\n')
}
