/** Reads what determines the flags: the settings file, the third-party plugins it loads, and all declared settings. */
import { dirname, resolve } from 'node:path'
import type { AnyPlugin } from '../kernel/index.ts'
import { loadPlugins } from '../kernel/load.ts'
import { type OwnedSection, type Setting, settingsOf } from '../kernel/settings/annotation.ts'
import { isTable, type SettingsFile } from '../kernel/settings/layer.ts'
import { readSettings, type SettingsInput } from '../kernel/settings/read.ts'
import { sectionsOf } from '../kernel/settings/sections.ts'
import type { World } from './world.ts'

export interface Gathered {
  readonly file: SettingsFile | undefined
  readonly thirdParty: readonly AnyPlugin[]
  /** Where relative paths of `[plugins] load` start: the folder of the file. */
  readonly folder: string
  readonly sections: readonly OwnedSection[]
  readonly settings: readonly Setting[]
}

const askedFor = (config: string | undefined, { environment }: World): SettingsInput | undefined => {
  if (config !== undefined) return { file: config, by: '--config' }
  const variable = environment.SERVER_CONFIG
  return variable === undefined || variable === '' ? undefined : { file: variable, by: 'SERVER_CONFIG' }
}

const referencesIn = (file: SettingsFile | undefined): readonly string[] => {
  const section = file?.values.plugins
  // A value that is not a list of strings is refused later, when all settings are checked.
  const load = isTable(section) ? section.load : undefined
  return Array.isArray(load) ? load.filter((one) => typeof one === 'string') : []
}

/** Throws `SettingsInvalid`, or the kernel's errors about plugins that cannot be loaded. */
export const gather = async (world: World, config: string | undefined): Promise<Gathered> => {
  const file = await readSettings(world.folder, askedFor(config, world), world.places)
  const folder = file === undefined ? world.folder : dirname(resolve(world.folder, file.file))
  const thirdParty = await loadPlugins(referencesIn(file), folder)
  const sections = sectionsOf(world.firstParty, thirdParty)
  return { file, thirdParty, folder, sections, settings: settingsOf(sections) }
}

/** The same without a settings file: help falls back to it. */
export const gatherFirstParty = (world: World): Gathered => {
  const sections = sectionsOf(world.firstParty, [])
  return { file: undefined, thirdParty: [], folder: world.folder, sections, settings: settingsOf(sections) }
}
