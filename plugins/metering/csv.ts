/** Usage as a table for spreadsheets. RFC 4180. */
import type { UsageRow } from './tables.ts'

const HEAD = ['client', 'day', 'class', 'requests', 'bytes_in', 'bytes_out'] as const

/** Quoted where it must be; a text that a spreadsheet would take for a formula is marked as text. */
const cell = (value: string | number): string => {
  if (typeof value === 'number') return String(value)
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

export const toCsv = (rows: readonly UsageRow[]): string =>
  [HEAD.join(','), ...rows.map((row) => HEAD.map((name) => cell(row[name])).join(','))]
    .map((line) => `${line}\r\n`)
    .join('')
