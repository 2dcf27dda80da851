/** `key = value` as server.toml has it. */
import { stringify } from 'smol-toml'

/** A key, in quotes where it needs them. */
export const tomlKey = (word: string): string => (/^[A-Za-z0-9_-]+$/.test(word) ? word : JSON.stringify(word))

const isEmptyTable = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length === 0

/** The value on one line, an empty table as `{}`. */
export const tomlValue = (value: unknown): string => {
  if (isEmptyTable(value)) return '{}'
  return stringify({ value: value as string })
    .trim()
    .replace(/^value = /, '')
}

/** `clients."my app".burst = 3` */
export const keyLine = (words: readonly string[], value: unknown): string =>
  `${words.map(tomlKey).join('.')} = ${tomlValue(value)}`
