/** What each plugin adds to the server, from its declarations: the output of `server plugins`. */
import type { Hooks } from './hooks.ts'
import type { MountedRoutes } from './http-parts.ts'
import type { AnyPlugin, Needs } from './plugin.ts'
import { listRoutes } from './route-list.ts'
import type { Service } from './services.ts'
import type { OwnedSection } from './settings/annotation.ts'

export interface PluginDescription {
  readonly name: string
  readonly description: string
  readonly enabled: boolean
  readonly hooks: readonly string[]
  readonly settings: readonly string[]
  readonly routes: readonly string[]
  readonly commands: readonly string[]
  readonly provides: readonly string[]
  readonly needs: readonly string[]
}

export interface DescribedParts {
  readonly plugins: readonly AnyPlugin[]
  /** In order of needs. */
  readonly enabled: readonly AnyPlugin[]
  readonly hooks: Hooks
  readonly routes: readonly MountedRoutes[]
  readonly sections: readonly OwnedSection[]
}

const tapsOf = (hooks: Hooks, plugin: string): string[] =>
  Object.values(hooks).flatMap((hook) =>
    (hook.taps as { plugin?: string; name: string }[])
      .filter((tap) => tap.plugin === plugin)
      .map((tap) => `${hook.name}: ${tap.name}`),
  )

/** `audit.enabled`, `plugin.acme.topic`: the settings that a plugin declares. */
const settingsIn = (sections: readonly OwnedSection[], { name }: AnyPlugin): readonly string[] =>
  sections
    .filter(({ plugin }) => plugin === name)
    .flatMap(({ path, schema }) => Object.keys(schema.properties).map((key) => `${path}.${key}`))

/** Enabled plugins in order of needs, then the others. */
export const describePlugins = async (parts: DescribedParts): Promise<readonly PluginDescription[]> => {
  const { plugins, enabled, sections } = parts
  const paths = Map.groupBy(await listRoutes(parts.routes), ({ plugin }) => plugin)
  return [...enabled, ...plugins.filter((plugin) => !enabled.includes(plugin))].map((plugin) => ({
    name: plugin.name,
    description: plugin.description ?? '',
    enabled: enabled.includes(plugin),
    hooks: tapsOf(parts.hooks, plugin.name),
    settings: settingsIn(sections, plugin),
    routes: (paths.get(plugin.name) ?? []).map(({ methods, path }) => `${methods.join('|')} ${path}`),
    commands: Object.keys(plugin.commands ?? {}),
    provides: (plugin.provides ?? []).map((service: Service<unknown>) => service.name),
    needs: Object.values((plugin.needs ?? {}) as Needs).map((service) => service.name),
  }))
}
