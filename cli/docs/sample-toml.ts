/**
 * Makes examples/server.toml: every setting with its description. Settings with a default are written out, the others
 * are comments.
 */
import { allowed } from '../../kernel/settings/allowed.ts'
import { type Setting, type SettingSchema, variablesOf } from '../../kernel/settings/annotation.ts'
import { isTable } from '../../kernel/settings/layer.ts'
import { keyLine, tomlKey } from '../toml.ts'
import { wrap } from './wrap.ts'

const WIDTH = 100 // characters of a comment line

const HEAD = `# Settings of the server: every one, with its default; a line that is a comment has none.
# Copy what you change: what is left out has its default. Read from ./server.toml, else /etc/server/server.toml, or from
# the path in SERVER_CONFIG or --config. The environment overrides this file, and the command line overrides both.
# Generated from the declarations of the plugins by npm run generate.
`

const waysIn = (schema: SettingSchema): string => {
  const ways = [
    ...variablesOf(schema).slice(0, 1),
    ...(schema.flag === undefined ? [] : [`--${schema.flag}`]),
    ...Object.keys(schema.flagValues ?? {}).map((flag) => `--${flag}`),
  ]
  return ways.length === 0 ? '' : ` [${ways.join(', ')}]`
}

const comment = (text: string): string[] => wrap(text, WIDTH - 2).map((line) => `# ${line}`)

const sentence = (schema: SettingSchema): string[] => comment(`${schema.description ?? ''}${waysIn(schema)}`)

/** Lines of a table's values, as comments where they are samples. */
const tableLines = (path: readonly string[], value: Record<string, unknown>, mark: string): string[] => {
  const entries = Object.entries(value)
  const plain = entries.filter(([, item]) => !isTable(item)).map(([key, item]) => `${mark}${keyLine([key], item)}`)
  const tables = entries.flatMap(([key, item]) => (isTable(item) ? tableLines([...path, key], item, mark) : []))
  return plain.length === 0 && tables.length > 0
    ? tables
    : [`${mark}[${path.map(tomlKey).join('.')}]`, ...plain, ...tables]
}

/** The defaults inside a table of settings. */
const defaultsOf = (schema: SettingSchema): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(schema.properties ?? {}).flatMap(([key, own]) =>
      own.properties !== undefined ? [[key, defaultsOf(own)]] : own.default === undefined ? [] : [[key, own.default]],
    ),
  )

const isTableSetting = ({ schema }: Setting): boolean =>
  schema.properties !== undefined || schema.patternProperties !== undefined

const scalar = ({ key, schema }: Setting): string[] => {
  if (schema.fileForbidden === true)
    return [...comment(`${schema.description ?? ''} Not in this file:${waysIn(schema)}`)]
  if (schema.default !== undefined) return [...sentence(schema), keyLine([key], schema.default)]
  const sample = schema.sample === undefined ? `${key} = …  (${allowed(schema)})` : keyLine([key], schema.sample)
  return [...sentence(schema), `# ${sample}`]
}

const table = ({ section, key, schema }: Setting): string[] => {
  const path = [...section.split('.'), key]
  if (schema.properties !== undefined && schema.default !== undefined)
    return [...sentence(schema), ...tableLines(path, { ...defaultsOf(schema), ...(schema.default as object) }, '')]
  return [...sentence(schema), ...tableLines(path, (schema.sample ?? {}) as Record<string, unknown>, '# ')]
}

export const sampleToml = (settings: readonly Setting[]): string => {
  const sections = Map.groupBy(settings, (setting) => setting.section)
  const parts = [...sections].map(([section, own]) => {
    const scalars = own.filter((setting) => !isTableSetting(setting)).map((setting) => scalar(setting).join('\n'))
    // Tables come after the single values: a table header ends the section.
    const tables = own.filter(isTableSetting).map((setting) => table(setting).join('\n'))
    return [`[${section}]`, ...scalars, ...tables].join('\n\n')
  })
  return `${[HEAD.trimEnd(), ...parts].join('\n\n')}\n`
}
