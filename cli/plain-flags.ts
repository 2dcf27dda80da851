/**
 * Reads arguments that are nothing but flags of settings in their plain form, as a start has them. Loading oclif takes as long
 * as a tenth of that start, so it reads only what is left: everything else, and everything wrong.
 */
import type { Setting } from '../kernel/settings/annotation.ts'
import type { GivenFlags } from './given-flags.ts'

type Takes = 'nothing' | 'value' | 'values'

const flagsOf = (settings: readonly Setting[]): ReadonlyMap<string, Takes> => {
  const flags = new Map<string, Takes>([['config', 'value']])
  for (const { schema } of settings) {
    for (const name of Object.keys(schema.flagValues ?? {})) flags.set(name, 'nothing')
    if (schema.flag === undefined) continue
    if (schema.type === 'boolean') {
      flags.set(schema.flag, 'nothing')
      flags.set(`no-${schema.flag}`, 'nothing')
    } else flags.set(schema.flag, schema.type === 'array' ? 'values' : 'value')
  }
  return flags
}

/** As oclif would give them, without `config`; undefined where oclif has to read them. */
export const plainFlags = (settings: readonly Setting[], argv: readonly string[]): GivenFlags | undefined => {
  const flags = flagsOf(settings)
  const given: Record<string, string | boolean | string[]> = {}
  for (let at = 0; at < argv.length; at += 1) {
    const [, name = '', , inline] = /^--([a-z][a-z0-9-]*)(=(.+))?$/s.exec(argv[at] as string) ?? []
    const takes = flags.get(name)
    if (takes === undefined) return undefined
    if (takes === 'nothing') {
      const isNegated = name.startsWith('no-') && !settings.some(({ schema }) => schema.flag === name)
      const flag = isNegated ? name.slice('no-'.length) : name
      if (inline !== undefined || given[flag] !== undefined) return undefined
      given[flag] = !isNegated
      continue
    }
    if (inline === undefined) at += 1
    const value = inline ?? argv[at]
    if (value === undefined || value === '' || value.startsWith('-')) return undefined
    const before = given[name]
    if (takes === 'values') given[name] = [...(Array.isArray(before) ? before : []), value]
    else if (before === undefined) given[name] = value
    else return undefined
  }
  const { config: _, ...ofSettings } = given
  return ofSettings
}
