/** All declared sections: the kernel's own, the first-party plugins', and those of third parties under [plugin.…]. */
import { kernelConfig } from '../config.ts'
import type { AnyPlugin } from '../plugin.ts'
import type { OwnedSection } from './annotation.ts'

const ownedBy = (plugin: string, config: AnyPlugin['config'], prefix: string): OwnedSection[] =>
  Object.entries(config ?? {}).map(([path, schema]) => ({
    plugin,
    path: `${prefix}${path}`,
    schema: schema as OwnedSection['schema'],
  }))

export const sectionsOf = (
  firstParty: readonly AnyPlugin[],
  thirdParty: readonly AnyPlugin[],
): readonly OwnedSection[] => [
  ...ownedBy('kernel', kernelConfig, ''),
  ...firstParty.flatMap(({ name, config }) => ownedBy(name, config, '')),
  ...thirdParty.flatMap(({ name, config }) => ownedBy(name, config, 'plugin.')),
]
