/**
 * What a command of a plugin is handed. The class extends oclif's `Command`; after `this.parse(...)` it asks
 * `commandContext(this)` for the settings, the plugins and a kernel. It needs no import but this and `@oclif/core`:
 *
 *     export default class Topics extends Command {
 *       static override summary = 'Lists the topics.'
 *       async run() {
 *         await this.parse(Topics)
 *         const { kernel, stdout } = commandContext(this)
 *         const { settings } = await kernel()
 *         stdout.write(`${settings.section('plugin.kafka').topic}\n`)
 *       }
 *     }
 *
 * Flags of settings (`--config`, `--sqlite`, …) are taken by every command beside its own, and are part of the settings.
 */
import type { Kernel } from './kernel.ts'
import type { KernelOptions } from './kernel-options.ts'
import type { AnyPlugin } from './plugin.ts'
import type { DecodedSettings } from './settings/decode.ts'
import type { Layered } from './settings/layer.ts'

export interface Output {
  write(text: string): unknown
  readonly isTTY?: boolean | undefined
}

export interface CommandContext {
  /** First-party plugins, then those of `[plugins] load`; enabled or not. */
  readonly plugins: readonly AnyPlugin[]
  /** File, environment and the flags of this command; not yet checked. Throws before `this.parse(...)`. */
  layered(): Layered
  /** Checked settings of all plugins. Throws `SettingsInvalid`. */
  settings(): DecodedSettings
  /** A kernel with all plugins set up and nothing opened or started. It logs to standard error unless told otherwise. */
  kernel(options?: Pick<KernelOptions, 'log' | 'only' | 'tellOperator'>): Promise<Kernel>
  readonly stdout: Output
  readonly stderr: Output
}

// Registered, so that a plugin with a kernel package of its own finds what this one left.
const CONTEXT = Symbol.for('server.command-context')

/** For the CLI: leaves the context with a command before it runs. */
export const giveContext = <C extends object>(command: C, context: CommandContext): C =>
  Object.defineProperty(command, CONTEXT, { value: context })

/** For a command: `commandContext(this)`. Throws when the command was not started by this server's CLI. */
export const commandContext = (command: object): CommandContext => {
  const context = (command as { [CONTEXT]?: CommandContext })[CONTEXT]
  if (context === undefined) throw new TypeError('This command runs under the server command only.')
  return context
}
