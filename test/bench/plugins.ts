/** The plugins of the server under test and their settings: what a build ships, with its defaults. */
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import type { AnyPlugin } from '../../kernel/index.ts'
import { firstParty } from '../../plugins/index.ts'

export type Settings = Readonly<Record<string, Readonly<Record<string, unknown>>>>

/** R4 with its examples, from the development dependency that holds it. */
export const examplesFolder = dirname(createRequire(import.meta.url).resolve('hl7.fhir.r4.examples/package.json'))

/** Installed from disk: nothing is downloaded. */
const FROM_DISK: Settings = { conformance: { skip_default_packages: true, packages: [examplesFolder] } }

export const housePlugins: readonly AnyPlugin[] = firstParty

const keysOf = (plugins: readonly AnyPlugin[]): ReadonlySet<string> =>
  new Set(
    plugins.flatMap(({ config }) =>
      Object.entries(config ?? {}).flatMap(([section, schema]) =>
        Object.keys((schema as { properties: object }).properties).map((key) => `${section}.${key}`),
      ),
    ),
  )

/** Settings for the plugins there are: a key that none of them declares is left out, so that a figure may ask for more. */
export const settingsFor = (plugins: readonly AnyPlugin[], wanted: Settings): Settings => {
  const declared = keysOf(plugins)
  const kept: Record<string, Record<string, unknown>> = {}
  for (const settings of [FROM_DISK, wanted])
    for (const [section, keys] of Object.entries(settings))
      for (const [key, value] of Object.entries(keys))
        if (section === 'server' || declared.has(`${section}.${key}`))
          kept[section] = { ...kept[section], [key]: value }
  return kept
}
