/**
 * Third-party plugins from `[plugins] load`: a package name or a path. One that cannot load stops the start by name.
 */

import { isAbsolute, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { PluginApi, PluginShape, PluginUnloadable } from './errors.ts'
import { KERNEL_API } from './kernel-api.ts'
import { messageOf } from './message-of.ts'
import { packageEntry } from './package-entry.ts'
import type { AnyPlugin } from './plugin.ts'
import { refuseOtherMajor } from './refuse-other-major.ts'
import { withArticle } from './with-article.ts'

const isTable = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

/** What is wrong with the value as a plugin, or undefined. */
const misshapen = (plugin: unknown): string | undefined => {
  if (plugin === undefined) return 'it has no default export'
  if (!isTable(plugin)) return `its default export is ${plugin === null ? 'null' : withArticle(typeof plugin)}`
  const { name, setup, api, config, needs, uses, provides } = plugin
  if (typeof name !== 'string' || !/^[a-z][a-z0-9-]*$/.test(name)) return 'its name is missing or not lower-case words'
  if (typeof setup !== 'function') return 'it has no setup function'
  if (api !== undefined && typeof api !== 'string') return 'its api is not a range such as "^2.0.0"'
  for (const [section, schema] of Object.entries(isTable(config) ? config : {})) {
    // Settings of different third parties are kept apart by the plugin's name.
    if (section !== name && !section.startsWith(`${name}.`))
      return `its settings stand under [plugin.${name}], and it declares "${section}"; call the section "${name}"`
    if (!isTable(schema) || !isTable(schema.properties)) return `its config "${section}" is not made by Type.Object`
  }
  const tokens = [needs, uses, provides].flatMap((one) => (isTable(one) ? Object.values(one) : []))
  if (!tokens.every((token) => isTable(token) && typeof token.name === 'string'))
    return 'what it needs, uses or provides is not made by defineService'
  return undefined
}

const addressOf = (reference: string, folder: string): string => {
  const isPath = reference.startsWith('.') || isAbsolute(reference)
  // Paths and packages are resolved from the folder of server.toml, so that an operator's node_modules is found there.
  return pathToFileURL(isPath ? resolve(folder, reference) : packageEntry(reference, folder)).href
}

/** Imports each reference; relative paths and packages are found from `folder`. */
export const loadPlugins = async (references: readonly string[], folder: string): Promise<readonly AnyPlugin[]> => {
  if (references.length === 0) return []
  const { satisfies, validRange } = await import('semver')
  const loaded: AnyPlugin[] = []
  for (const reference of references) {
    let module: { default?: unknown }
    try {
      module = await import(addressOf(reference, folder))
    } catch (error) {
      throw PluginUnloadable(reference, messageOf(error)).with({ cause: error })
    }
    const made = module.default
    // Checked before the shape, which may differ in another major version.
    if (isTable(made) && typeof made.name === 'string') refuseOtherMajor(made as { name: string })
    const wrong = misshapen(made)
    if (wrong !== undefined) throw PluginShape(reference, wrong)
    const plugin = made as AnyPlugin
    if (plugin.api !== undefined && (validRange(plugin.api) === null || !satisfies(KERNEL_API, plugin.api)))
      throw PluginApi(plugin.name, plugin.api, KERNEL_API)
    loaded.push(plugin)
  }
  return loaded
}
