/** The context of one command: settings with the flags that were given, the plugins, and a kernel when requested. */
import { type CommandContext, commandContext } from '../kernel/command.ts'
import { createKernel } from '../kernel/index.ts'
import { type DecodedSettings, decode } from '../kernel/settings/decode.ts'
import { fromSources, type Layered } from '../kernel/settings/layer.ts'
import type { Gathered } from './gather.ts'
import type { GivenFlags } from './given-flags.ts'
import type { World } from './world.ts'

/** Our own commands get more than the commands of plugins. */
export interface OwnContext extends CommandContext {
  readonly world: World
  readonly gathered: Gathered
  /** Called by the wrapper around a command with the parsed flags of settings. */
  given(flags: GivenFlags): void
  /** Values to mask in output, as far as the settings can be read. */
  secrets(): readonly string[]
}

export const ownContext = (command: object): OwnContext => commandContext(command) as OwnContext

export const createContext = (world: World, gathered: Gathered): OwnContext => {
  let flags: GivenFlags | undefined
  const layered = (): Layered => {
    // An error, because without the parsed flags `--sqlite path` would be ignored and another database would be used.
    if (flags === undefined) throw new TypeError('The command asks for settings before this.parse(...).')
    return fromSources({ file: gathered.file, environment: world.environment, flags })
  }
  const settings = (): DecodedSettings => decode(gathered.sections, layered())
  return {
    world,
    gathered,
    plugins: [...world.firstParty, ...gathered.thirdParty],
    given: (parsed) => {
      flags = parsed
    },
    layered,
    settings,
    secrets: () => {
      try {
        return settings().secrets()
      } catch {
        return [] // messages about refused settings do not show values
      }
    },
    kernel: ({ log = { stream: { write: (line: string) => void world.stderr.write(line) } }, ...options } = {}) =>
      createKernel({ plugins: world.firstParty, settings: layered(), folder: gathered.folder, log, ...options }),
    stdout: world.stdout,
    stderr: world.stderr,
  }
}
