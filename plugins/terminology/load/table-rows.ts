/** What is read of a table of a release: rows with the columns that are asked for, whatever their order in the file. */
import { ReleaseLine } from '../errors.ts'
import type { ReleaseFile } from './release-files.ts'

export interface Columns {
  /** Columns that the file must have. */
  readonly required: readonly string[]
  /** Columns whose values are empty where the file does not have them. */
  readonly optional?: readonly string[]
}

export interface TableRow {
  /** Values of the required columns, then those of the optional ones. */
  readonly values: readonly string[]
  readonly line: number
}

/** Some rows at once, so that nothing is awaited for each. `bytes`: how much of the file was read since the batch before. */
export interface TableBatch {
  readonly rows: readonly TableRow[]
  readonly bytes: number
}

/** Throws `ReleaseLine` for what is not as the format says, with file and line. */
export type ReadTable = (file: ReleaseFile, columns: Columns) => AsyncGenerator<TableBatch>

/** PostgreSQL stores no U+0000. Throws `ReleaseLine`. */
export const refuseNul = (file: ReleaseFile, text: string, line: number): void => {
  if (text.includes('\u0000')) throw ReleaseLine(file.label, line, 'it has the character U+0000')
}

/** Where the columns are in the file, -1 for an optional one that it does not have. Throws `ReleaseLine`. */
export const findColumns = (file: ReleaseFile, header: readonly string[], columns: Columns): readonly number[] => {
  const names = header.map((one) => one.trim().toLowerCase())
  const twice = header.find((_, at) => names[at] !== '' && names.indexOf(names[at] as string) !== at)
  if (twice !== undefined) throw ReleaseLine(file.label, 1, `the heading has ${twice.trim().slice(0, 60)} twice`)
  const places = columns.required.map((name) => names.indexOf(name.toLowerCase()))
  const missing = columns.required.filter((_, at) => places[at] === -1)
  if (missing.length > 0)
    throw ReleaseLine(
      file.label,
      1,
      `the heading lacks ${missing.join(', ')}; it is "${header.join(', ').slice(0, 200)}"`,
    )
  return [...places, ...(columns.optional ?? []).map((name) => names.indexOf(name.toLowerCase()))]
}
