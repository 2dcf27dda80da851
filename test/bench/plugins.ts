/** The plugins of the server under test: what a build ships, with its defaults. */
import { existsSync } from 'node:fs'
import type { AnyPlugin } from '../../kernel/index.ts'
import { examplesFolder, stubDefinitions } from '../support/stub-definitions.ts'

const at = (path: string): URL => new URL(`../../plugins/${path}`, import.meta.url)

const load = async (name: string): Promise<AnyPlugin> =>
  ((await import(at(`${name}/index.ts`).href)) as { default: AnyPlugin }).default

/** The plugins a start without third-party plugins has. The definitions come from a package installed from disk. */
export const housePlugins = async (): Promise<readonly AnyPlugin[]> => {
  if (existsSync(at('index.ts'))) {
    const { default: plugins } = (await import(at('index.ts').href)) as { default: readonly AnyPlugin[] }
    return plugins
  }
  const names = [
    'database',
    'packages',
    'fhir',
    'validation',
    'references',
    'metering',
    'request-log',
    'audit',
    'probes',
  ]
  const there = names.filter((name) => existsSync(at(`${name}/index.ts`)))
  const plugins = await Promise.all(there.map(load))
  return there.includes('packages') ? plugins : [...plugins, stubDefinitions('all')]
}

/** Settings of the plugins that are there; what names a section or key nobody declares is left out. */
export const settingsOf = (
  plugins: readonly AnyPlugin[],
  wanted: Readonly<Record<string, Readonly<Record<string, unknown>>>>,
): Record<string, Record<string, unknown>> => {
  const declared = new Set(['server.bind', 'log.level'])
  for (const { config } of plugins)
    for (const [section, schema] of Object.entries(config ?? {}))
      for (const key of Object.keys((schema as { properties: object }).properties)) declared.add(`${section}.${key}`)
  const kept: Record<string, Record<string, unknown>> = {}
  for (const [section, keys] of Object.entries({ conformance: {}, ...wanted }))
    for (const [key, value] of Object.entries({ ...(section === 'conformance' ? FROM_DISK : {}), ...keys }))
      if (declared.has(`${section}.${key}`)) kept[section] = { ...kept[section], [key]: value }
  return kept
}

/** R4 from the development dependency that holds it: nothing is downloaded. */
const FROM_DISK = { skip_default_packages: true, packages: [examplesFolder] }
