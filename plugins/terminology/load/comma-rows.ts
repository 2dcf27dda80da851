/** Reads the CSV files of LOINC: UTF-8 with or without a byte order mark, values in quotes, which may have several lines. */
import { pipeline } from 'node:stream/promises'
import { CsvError, parse } from 'csv-parse'
import { isServerError } from '../../../kernel/index.ts'
import { ReleaseFile as ReleaseFileError, ReleaseLine } from '../errors.ts'
import { findColumns, type ReadTable, refuseNul, type TableRow } from './table-rows.ts'
import { readUtf8 } from './utf8-chunks.ts'

const AT_ONCE = 1000
const MAX_RECORD = 4 * 1024 * 1024 // bytes

interface Read {
  readonly record: readonly string[]
  /**
   * As it is in the file, behind the line breaks of empty lines. Of a line break outside of quotes the library keeps one character,
   * and the lines that it counts itself are wrong where there is one within quotes.
   */
  readonly raw: string
}
const EMPTY_LINES = /^[\r\n]*/
/** Line breaks within quotes: the one at the end is that of the record. */
const BREAKS = /\n(?!$)/g

export const readCommaRows: ReadTable = async function* (file, columns) {
  let read = 0
  const chunks = async function* () {
    for await (const chunk of readUtf8(file)) {
      read += chunk.length
      yield chunk
    }
  }
  const parser = parse({ bom: true, raw: true, skip_empty_lines: true, max_record_size: MAX_RECORD })
  let failed: unknown
  const piped = pipeline(chunks(), parser).catch((error: unknown) => {
    failed = error
  })
  let places: readonly number[] | undefined
  let rows: TableRow[] = []
  let known = 0
  let line = 1
  const batch = () => {
    const made = { rows, bytes: read - known }
    rows = []
    known = read
    return made
  }
  try {
    for await (const { record, raw } of parser as AsyncIterable<Read>) {
      line += EMPTY_LINES.exec(raw)?.[0].length ?? 0
      refuseNul(file, raw, line)
      if (places === undefined) places = findColumns(file, record, columns)
      else rows.push({ values: places.map((at) => record[at] ?? ''), line })
      line += 1 + (raw.replace(EMPTY_LINES, '').match(BREAKS)?.length ?? 0)
      if (rows.length >= AT_ONCE) yield batch()
    }
  } catch (error) {
    if (error instanceof CsvError) throw ReleaseLine(file.label, line, lowered(error.message))
    if (isServerError(error)) throw error
    throw failed ?? error
  } finally {
    parser.destroy()
    await piped
  }
  if (places === undefined) throw ReleaseFileError(file.label, 'it is empty')
  yield batch()
}

/** The sentence of the library as part of another one. */
const lowered = (message: string): string =>
  `${message.charAt(0).toLowerCase()}${message.slice(1)}`.replace(/ on line \d+$|[.]$/g, '')
