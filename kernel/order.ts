/**
 * Sorts plugins by needs: a plugin comes after those that provide what it needs or uses; otherwise they keep their
 * order.
 */
import { PluginCycle, PluginNeeds, PluginTwice, ServiceProviders } from './errors.ts'
import type { AnyPlugin } from './plugin.ts'
import type { Service } from './services.ts'

/** Throws `PluginTwice`. Disabled plugins count too: settings, logs and errors refer to them by name. */
export const refuseDuplicateNames = (plugins: readonly AnyPlugin[]): void => {
  const names = new Set(['kernel'])
  for (const { name } of plugins) {
    if (names.has(name)) throw PluginTwice(name)
    names.add(name)
  }
}

/** Name of a service → the plugin that provides it. Throws `ServiceProviders` where there are two. */
const providersOf = (plugins: readonly AnyPlugin[]): ReadonlyMap<string, AnyPlugin> => {
  const providers = new Map<string, AnyPlugin>()
  for (const plugin of plugins)
    for (const { name } of plugin.provides ?? []) {
      const other = providers.get(name)
      if (other !== undefined && other !== plugin) throw ServiceProviders(other.name, plugin.name, name)
      providers.set(name, plugin)
    }
  return providers
}

/** Throws `PluginNeeds` for a service nobody provides, `PluginCycle` with the circle as `a → b → a`. */
export const orderPlugins = (plugins: readonly AnyPlugin[]): readonly AnyPlugin[] => {
  const providers = providersOf(plugins)
  const ordered: AnyPlugin[] = []
  const done = new Set<AnyPlugin>()
  const path: AnyPlugin[] = []
  const visit = (plugin: AnyPlugin): void => {
    if (done.has(plugin)) return
    if (path.includes(plugin)) {
      const circle = [...path.slice(path.indexOf(plugin)), plugin]
      throw PluginCycle(circle.map((one) => one.name).join(' → '))
    }
    path.push(plugin)
    for (const service of Object.values(plugin.needs ?? {}) as Service<unknown>[]) {
      const provider = providers.get(service.name)
      if (provider === undefined) throw PluginNeeds(plugin.name, service.name)
      visit(provider)
    }
    for (const service of (plugin.uses ?? []) as readonly Service<unknown>[]) {
      const provider = providers.get(service.name)
      if (provider !== undefined) visit(provider)
    }
    path.pop()
    done.add(plugin)
    ordered.push(plugin)
  }
  for (const plugin of plugins) visit(plugin)
  return ordered
}

/** Plugins by name with all that they need or use, in the given order. */
export const withDependencies = (ordered: readonly AnyPlugin[], names: readonly string[]): readonly AnyPlugin[] => {
  const wanted = new Set(ordered.filter(({ name }) => names.includes(name)))
  // Backwards, because a provider comes before the plugins that need it.
  for (const plugin of ordered.toReversed()) {
    if (!wanted.has(plugin)) continue
    const services = [...(Object.values(plugin.needs ?? {}) as Service<unknown>[]), ...(plugin.uses ?? [])]
    const names = new Set(services.map(({ name }) => name))
    for (const other of ordered) if (other.provides?.some(({ name }) => names.has(name)) === true) wanted.add(other)
  }
  return ordered.filter((plugin) => wanted.has(plugin))
}
