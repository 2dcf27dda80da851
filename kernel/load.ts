/** Third-party plugins from `[plugins] load`: a package name or a path. One that cannot load stops the start by name. */
import { createRequire } from 'node:module'
import { isAbsolute, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { PluginApi, PluginShape, PluginUnloadable } from './errors.ts'
import { type AnyPlugin, KERNEL_API } from './plugin.ts'

/** What is wrong with the value as a plugin, or undefined. */
const misshapen = (plugin: unknown): string | undefined => {
  if (typeof plugin !== 'object' || plugin === null) return 'it has no default export'
  const { name, setup } = plugin as Record<string, unknown>
  if (typeof name !== 'string' || !/^[a-z][a-z0-9-]*$/.test(name)) return 'its name is missing or not lower-case words'
  if (typeof setup !== 'function') return 'it has no setup function'
  return undefined
}

const addressOf = (reference: string, folder: string): string => {
  if (reference.startsWith('.') || isAbsolute(reference)) return pathToFileURL(resolve(folder, reference)).href
  // From the folder of server.toml, so that an operator's node_modules is found there.
  return pathToFileURL(createRequire(resolve(folder, 'server.toml')).resolve(reference)).href
}

/** Imports each reference; relative paths and packages are found from `folder`. */
export const loadPlugins = async (references: readonly string[], folder: string): Promise<readonly AnyPlugin[]> => {
  const { satisfies, validRange } = await import('semver')
  const loaded: AnyPlugin[] = []
  for (const reference of references) {
    let module: { default?: unknown }
    try {
      module = await import(addressOf(reference, folder))
    } catch (error) {
      throw PluginUnloadable(reference, (error as Error).message.split('\n')[0] ?? '').with({ cause: error })
    }
    const wrong = misshapen(module.default)
    if (wrong !== undefined) throw PluginShape(reference, wrong)
    const plugin = module.default as AnyPlugin
    if (plugin.api !== undefined && (validRange(plugin.api) === null || !satisfies(KERNEL_API, plugin.api)))
      throw PluginApi(plugin.name, plugin.api, KERNEL_API)
    loaded.push(plugin)
  }
  return loaded
}
