/** Command-line flags, made from the settings' annotations. Spec: Command line; every flag has a place in the file. */
import { Flags, type Interfaces } from '@oclif/core'
import { choices } from '../kernel/settings/allowed.ts'
import { type Setting, type SettingSchema, variablesOf } from '../kernel/settings/annotation.ts'

export type FlagDefinitions = Interfaces.FlagInput

/** The placeholder of the value in help: `strict|fhir`, `n`, `path`. */
const valueWord = (key: string, schema: SettingSchema): string => {
  const of = schema.type === 'array' ? (schema.items ?? {}) : schema
  const literals = choices(of)
  if (literals !== undefined) return literals.join('|')
  if (of.type === 'integer' || of.type === 'number') return 'n'
  const word = /(?:^|_)(url|path|dir|token|secret|id)s?$/.exec(key)?.[1]
  return word ?? schema.allowed?.match(/^[a-z]+:[a-z]+/)?.[0] ?? 'value'
}

const described = (schema: SettingSchema): string => {
  const notes = [
    ...(schema.default === undefined || typeof schema.default === 'object' ? [] : [`default ${schema.default}`]),
    ...variablesOf(schema).slice(0, 1),
  ]
  const sentence = schema.description ?? ''
  return notes.length === 0 ? sentence : `${sentence} (${notes.join('; ')})`
}

export const configFlag: FlagDefinitions = {
  config: Flags.string({
    helpValue: 'path',
    description: 'Settings file, instead of ./server.toml or /etc/server/server.toml. (SERVER_CONFIG)',
  }),
}

/** One flag for each annotation. `hidden` leaves them out of a command's help page. */
export const settingsFlags = (settings: readonly Setting[], hidden = false): FlagDefinitions => {
  const flags: FlagDefinitions = {}
  for (const { key, section, schema } of settings) {
    const common = { helpGroup: `[${section}]`, hidden }
    for (const [name, value] of Object.entries(schema.flagValues ?? {}))
      flags[name] = Flags.boolean({ ...common, description: `Same as ${key} = ${JSON.stringify(value)}.` })
    if (schema.flag === undefined) continue
    const text = { ...common, description: described(schema), helpValue: valueWord(key, schema) }
    if (schema.type === 'boolean')
      flags[schema.flag] = Flags.boolean({ ...common, description: described(schema), allowNo: true })
    else if (schema.type === 'array')
      flags[schema.flag] = Flags.string({ ...text, multiple: true, multipleNonGreedy: true })
    else flags[schema.flag] = Flags.string(text)
  }
  return flags
}
