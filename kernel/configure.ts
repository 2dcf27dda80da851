/** Loads third-party plugins, and checks the settings against the sections that all plugins declare. */
import { PluginSetup, ServiceForeign } from './errors.ts'
import type { KernelOptions } from './kernel-options.ts'
import { loadPlugins } from './load.ts'
import { messageOf } from './message-of.ts'
import { refuseDuplicateNames } from './order.ts'
import type { AnyPlugin } from './plugin.ts'
import { refuseOtherMajor } from './refuse-other-major.ts'
import { type DecodedSettings, decode } from './settings/decode.ts'
import { fromObject, type Layered } from './settings/layer.ts'
import { sectionsOf } from './settings/sections.ts'

export interface Configured {
  /** The plugins that were given, then those of `[plugins] load`; enabled or not. */
  readonly plugins: readonly AnyPlugin[]
  readonly sections: ReturnType<typeof sectionsOf>
  readonly settings: DecodedSettings
  /** The sections a plugin declares, by the names it gave them. */
  configOf(plugin: AnyPlugin): Record<string, unknown>
  /** Throws `PluginSetup` when the plugin's own `enabled` throws. */
  isEnabled(plugin: AnyPlugin): boolean
}

const isLayered = (settings: object): settings is Layered =>
  typeof (settings as Layered).origin === 'function' && typeof (settings as Layered).values === 'object'

/**
 * Throws `ServiceForeign` for a third party's service whose name does not begin with its plugin's: services are looked
 * up by name, and two third parties could choose the same one. A third party may also provide a first-party service
 * whose own plugin is disabled.
 */
const refuseForeignServices = (firstParty: readonly AnyPlugin[], thirdParty: readonly AnyPlugin[]): void => {
  const ours = new Set(firstParty.flatMap(({ provides = [] }) => provides.map(({ name }) => name)))
  for (const { name: plugin, provides = [] } of thirdParty)
    for (const { name } of provides)
      if (!name.startsWith(`${plugin}/`) && !ours.has(name))
        throw ServiceForeign(plugin, name, `${plugin}/${name.split('/').at(-1)}`)
}

export const configure = async (options: KernelOptions): Promise<Configured> => {
  const given = options.settings ?? {}
  const layered = isLayered(given) ? given : fromObject(given)
  const references = (layered.values as { plugins?: { load?: unknown } }).plugins?.load
  const loaded = Array.isArray(references)
    ? await loadPlugins(
        references.filter((one) => typeof one === 'string'),
        options.folder ?? '.',
      )
    : []
  for (const plugin of options.plugins) refuseOtherMajor(plugin)
  refuseForeignServices(options.plugins, loaded)
  const thirdParty = new Set<AnyPlugin>(loaded)
  const plugins = [...options.plugins, ...loaded]
  refuseDuplicateNames(plugins)
  const sections = sectionsOf(options.plugins, loaded)
  const settings = decode(sections, layered)
  const configOf = (plugin: AnyPlugin): Record<string, unknown> =>
    Object.fromEntries(
      Object.keys(plugin.config ?? {}).map((path) => [
        path,
        settings.section(thirdParty.has(plugin) ? `plugin.${path}` : path),
      ]),
    )
  const isEnabled = (plugin: AnyPlugin): boolean => {
    try {
      return plugin.enabled?.(configOf(plugin)) ?? true
    } catch (error) {
      throw PluginSetup(plugin.name, messageOf(error)).with({ cause: error })
    }
  }
  return { plugins, sections, settings, configOf, isEnabled }
}
