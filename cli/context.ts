/** The context of one command: the layers with the flags it was given, the plugins, a kernel on demand. */
import { type CommandContext, commandContext } from '../kernel/command.ts'
import { createKernel } from '../kernel/index.ts'
import { type DecodedSettings, decode } from '../kernel/settings/decode.ts'
import { fromSources, type Layered } from '../kernel/settings/layer.ts'
import type { Gathered } from './gather.ts'
import type { GivenFlags } from './given-flags.ts'
import type { World } from './world.ts'

/** For our own commands: what plugins' commands have no use for. */
export interface OwnContext extends CommandContext {
  readonly world: World
  readonly gathered: Gathered
  /** For the wrapper around a command: the flags of settings that were parsed. */
  given(flags: GivenFlags): void
  /** Values that no line may show, as far as the settings can be read. */
  secrets(): readonly string[]
}

export const ownContext = (command: object): OwnContext => commandContext(command) as OwnContext

export const createContext = (world: World, gathered: Gathered): OwnContext => {
  let flags: GivenFlags | undefined
  const layered = (): Layered => {
    // Not an empty set: `--sqlite path` would silently be another database.
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
        return [] // refused settings are told without their values
      }
    },
    kernel: ({ log = { stream: { write: (line: string) => void world.stderr.write(line) } }, ...options } = {}) =>
      createKernel({ plugins: world.firstParty, settings: layered(), folder: gathered.folder, log, ...options }),
    stdout: world.stdout,
    stderr: world.stderr,
  }
}
