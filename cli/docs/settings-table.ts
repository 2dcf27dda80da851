/** The tables of settings in cli/README.md, one per section. */
import { allowed } from '../../kernel/settings/allowed.ts'
import { commandLineFlagsOf, type Setting, type SettingSchema, variablesOf } from '../../kernel/settings/annotation.ts'
import { tomlValue } from '../toml.ts'
import { row } from './row.ts'

const code = (text: string): string => `\`${text}\``

const defaultOf = (schema: SettingSchema): string => {
  if (schema.default === undefined) return ''
  return schema.properties === undefined ? code(tomlValue(schema.default)) : ''
}

const elsewhere = (schema: SettingSchema): string =>
  [...variablesOf(schema), ...commandLineFlagsOf(schema).map((flag) => `--${flag}`)].map(code).join(' ')

/** A setting that is a table gives one row for each key in it. */
const rowsOf = (key: string, schema: SettingSchema): string[] => {
  const keep = schema.fileForbidden === true ? ' Not in the file.' : ''
  const own = row([
    code(key),
    allowed(schema),
    defaultOf(schema),
    elsewhere(schema),
    `${schema.description ?? ''}${keep}`,
  ])
  const inside = [
    ...Object.entries(schema.properties ?? {}).map(([name, one]) => [`${key}.${name}`, one] as const),
    ...Object.values(schema.patternProperties ?? {}).flatMap((one) =>
      Object.entries(one.properties ?? {}).map(([name, item]) => [`${key}.<name>.${name}`, item] as const),
    ),
  ]
  return [own, ...inside.flatMap(([name, one]) => rowsOf(name, one))]
}

export const settingsTable = (settings: readonly Setting[]): string =>
  [...Map.groupBy(settings, (setting) => setting.section)]
    .map(([section, own]) =>
      [
        `### [${section}]`,
        '',
        row(['Key', 'Takes', 'Default', 'Environment, flag', 'Meaning']),
        row(['---', '---', '---', '---', '---']),
        ...own.flatMap(({ key, schema }) => rowsOf(key, schema)),
      ].join('\n'),
    )
    .join('\n\n')
