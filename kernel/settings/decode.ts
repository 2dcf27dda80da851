/** The sections of all plugins and the layers of values → one frozen object per section, or all complaints at once. */
import { allowed } from './allowed.ts'
import { annotated, type OwnedSection, type Setting, settingsOf, waysToSet } from './annotation.ts'
import { createCheck, named } from './check.ts'
import { describeOrigin } from './describe-origin.ts'
import { NoSuchSection, SettingsInvalid } from './errors.ts'
import { withImplied } from './implied.ts'
import { isTable, type Layered, type Table, valueAt } from './layer.ts'
import { createReport, type Report } from './report.ts'
import { createUnknown } from './unknown.ts'

export type { OwnedSection } from './annotation.ts'
export { SettingsInvalid } from './errors.ts'
export type { Reported } from './report.ts'

export interface DecodedSettings extends Report {
  /**
   * Deep frozen, defaults filled in, with the keys of all plugins that declare this section. Throws `NoSuchSection`.
   */
  section(path: string): Readonly<Record<string, unknown>>
}

/** Defaults that hold as soon as the section is written. */
const whenPresent = (sections: readonly OwnedSection[], path: string): Table =>
  Object.assign({}, ...sections.filter((one) => one.path === path).map((one) => annotated(one.schema).whenPresent))

/**
 * Checks everything and fills in defaults. Throws `SettingsInvalid` with all complaints, `SettingTwice` for a key with
 * two owners.
 */
export const decode = (sections: readonly OwnedSection[], layers: Layered): DecodedSettings => {
  const settings = settingsOf(sections)
  const { layered, complaints: contradictions } = withImplied(settings, layers.declare(sections))
  // Prefixes too: `smart.oidc` makes `smart` a table. `plugin` is known even when no third-party plugin is loaded, so
  // that the complaint about [plugin.x] can say what to do.
  const tables = new Set([
    'plugin',
    ...sections.flatMap(({ path }) => path.split('.').map((_, at, words) => words.slice(0, at + 1).join('.'))),
  ])
  const unknown = createUnknown(settings, tables)
  const complaints: string[] = []
  const complain = (path: string, about: string): void => {
    complaints.push(`${describeOrigin(layered.origin(path))}: ${about}`)
  }
  for (const [path, about] of contradictions) complain(path, about)
  const check = createCheck(complain)

  const decodeSetting = (setting: Setting, value: unknown, fallback: unknown): unknown => {
    const { schema, path } = setting
    if (value === undefined && fallback === undefined) {
      if (!setting.required) return undefined
      complaints.push(
        `settings: ${named(setting)} is missing; set ${waysToSet(setting).join(' or ')} to ${allowed(schema)}`,
      )
    } else if (value !== undefined && schema.fileForbidden === true && layered.origin(path).source === 'file') {
      complain(path, `${named(setting)} is kept out of the file; set ${waysToSet(setting).join(' or ')} instead`)
    } else return check(setting, schema, value === undefined ? fallback : value, path)
    return undefined
  }

  const decodeSection = (path: string): Readonly<Table> => {
    const given = valueAt(layered.values, path)
    // Does not show the value: it may be a secret in the wrong place.
    if (given !== undefined && !isTable(given)) complain(path, `${path} is a value; [${path}] is a table`)
    const table = isTable(given) ? given : {}
    const own = settings.filter((one) => one.section === path)
    for (const [key, value] of Object.entries(table))
      if (value !== undefined && !tables.has(`${path}.${key}`) && !own.some((one) => one.key === key))
        complain(`${path}.${key}`, unknown.key(path, key))
    const present = given === undefined ? {} : whenPresent(sections, path)
    const result: Table = {}
    for (const setting of own) {
      const { key, schema } = setting
      const fallback = Object.hasOwn(present, key) ? present[key] : schema.default
      const value = decodeSetting(setting, Object.hasOwn(table, key) ? table[key] : undefined, fallback)
      if (value !== undefined) result[key] = value
    }
    return Object.freeze(result)
  }

  for (const [name, value] of Object.entries(layered.values))
    if (value !== undefined && !tables.has(name)) complain(name, unknown.section(name, isTable(value)))
  const decoded = new Map([...tables].map((path) => [path, decodeSection(path)]))
  if (complaints.length > 0) throw new SettingsInvalid(complaints)

  const declared = new Set(sections.map(({ path }) => path))
  return {
    section: (path) => {
      const found = decoded.get(path)
      if (found === undefined || !declared.has(path)) throw NoSuchSection(path)
      return found
    },
    ...createReport(settings, ({ section, key }) => decoded.get(section)?.[key], layered),
  }
}
