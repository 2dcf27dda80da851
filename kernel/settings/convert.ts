/**
 * Converts the text of an environment variable or flag to the setting's type. Text that does not convert stays text,
 * which the check then refuses.
 */
import type { SettingSchema } from './annotation.ts'

const WORDS: Readonly<Record<string, boolean>> = { true: true, '1': true, false: false, '0': false }

export const convert = (schema: SettingSchema, text: string | boolean | readonly string[]): unknown => {
  if (typeof text === 'boolean') return text
  if (schema.type === 'array') {
    // A flag can be repeated. A variable cannot, so its items are separated by commas.
    const items =
      typeof text === 'string'
        ? text
            .split(',')
            .map((item) => item.trim())
            .filter((item) => item !== '')
        : text
    return items.map((item) => convert(schema.items ?? {}, item))
  }
  if (typeof text !== 'string') return text
  if (schema.type === 'boolean') return Object.hasOwn(WORDS, text.toLowerCase()) ? WORDS[text.toLowerCase()] : text
  if (schema.type === 'integer' || schema.type === 'number') {
    const number = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : Number.NaN
    // An integer that a double cannot hold would silently become its neighbour.
    const kept = schema.type === 'integer' ? Number.isSafeInteger(number) : Number.isFinite(number)
    return kept ? number : text
  }
  return text
}
