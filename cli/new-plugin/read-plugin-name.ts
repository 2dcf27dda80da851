import type { PluginNames } from './source-files.ts'

const LONGEST = 64
/** Names of packages that a folder of packages cannot have, or that would hide the server's own. */
const TAKEN = new Set(['node_modules', 'refhir', 'server'])
const SHAPE = /^(?:@[a-z0-9][a-z0-9._-]*\/)?([a-z][a-z0-9]*(?:-[a-z0-9]+)*)$/

/** The names of a package and its plugin, or a sentence that says why they are refused. `others`: names of loaded plugins. */
export const readPluginName = (name: string, others: ReadonlySet<string>): PluginNames | string => {
  const plugin = SHAPE.exec(name)?.[1]
  if (plugin === undefined || name.length > LONGEST)
    return `${JSON.stringify(name)} cannot be the name of a plugin: lower-case words with hyphens, such as tally or @acme/tally, of at most ${LONGEST} characters`
  if (others.has(plugin)) return `there is a plugin ${plugin} already; choose another name`
  if (TAKEN.has(plugin)) return `a plugin cannot be called ${plugin}; choose another name`
  return { package: name, plugin }
}
