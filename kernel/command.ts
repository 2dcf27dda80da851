/**
 * The context that a command of a plugin gets. The class extends oclif's `Command`; after `this.parse(...)` it calls
 * `commandContext(this)` for the settings, the plugins and a kernel. It imports only this and `@oclif/core`:
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
 * Every command also takes the flags of settings (`--config`, `--sqlite`, …); they are part of the settings.
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
  /** A kernel with all plugins set up and nothing opened or started. It logs to standard error by default. */
  kernel(options?: Pick<KernelOptions, 'log' | 'only' | 'tellOperator'>): Promise<Kernel>
  readonly stdout: Output
  readonly stderr: Output
}

// A registered symbol, so that a plugin with its own copy of this package finds the context that this copy set.
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
