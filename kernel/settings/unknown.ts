/**
 * Messages about names that no plugin declares. They never show the value, since a misspelt secret is still a secret.
 */
import type { Setting } from './annotation.ts'
import { closestKey } from './closest-key.ts'

export interface Unknown {
  /** `[conformance] update_as_creat is not a setting; did you mean update_as_create?` */
  key(section: string, key: string): string
  /** `[databse] is not a section of any plugin; did you mean [database]?` */
  /** `isTable`: it is written as `[name]`, not as `name = …`. */
  section(name: string, isTable: boolean): string
}

/** `tables`: all section paths and their prefixes. */
export const createUnknown = (settings: readonly Setting[], tables: ReadonlySet<string>): Unknown => {
  const sectionsIn = (path: string): string[] =>
    [...tables].filter((one) => one.startsWith(`${path}.`)).map((one) => one.slice(path.length + 1))

  const hint = (section: string, key: string): string => {
    const keys = settings.filter((one) => one.section === section).map((one) => one.key)
    const near = closestKey(key, [...keys, ...sectionsIn(section)])
    if (near !== undefined) return `did you mean ${near}?`
    const elsewhere = settings.find((one) => one.key === key)
    if (elsewhere !== undefined) return `it belongs to [${elsewhere.section}]`
    return `[${section}] takes ${[...keys, ...sectionsIn(section)].join(', ')}`
  }

  return {
    key: (section, key) =>
      section === 'plugin'
        ? `[plugin.${key}]: no plugin named ${key} is loaded; add it to [plugins] load, or remove the section`
        : `[${section}] ${key} is not a setting; ${hint(section, key)}`,
    section: (name, isTable) => {
      const tops = [...tables].filter((one) => !one.includes('.') && one !== 'plugin')
      const near = closestKey(name, tops)
      const owner = settings.find((one) => one.key === name)
      if (near !== undefined) return `[${name}] is not a section of any plugin; did you mean [${near}]?`
      if (owner !== undefined && !isTable)
        return `${name} stands outside of any section; it belongs to [${owner.section}]`
      return `[${name}] is not a section of any plugin; there are ${tops.map((one) => `[${one}]`).join(', ')}`
    },
  }
}
