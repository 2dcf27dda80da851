/**
 * Reads the tables of SNOMED CT's release format 2: UTF-8, values between tabs, never in quotes, lines that end with CR and LF.
 * https://confluence.ihtsdotools.org/display/DOCRELFMT/3.1.1+File+Format
 */
import { ReleaseFile as ReleaseFileError, ReleaseLine } from '../errors.ts'
import { findColumns, type ReadTable, refuseNul, type TableRow } from './table-rows.ts'
import { readUtf8 } from './utf8-chunks.ts'

const MAX_LINE = 1024 * 1024 // characters

const withoutReturn = (line: string): string => (line.endsWith('\r') ? line.slice(0, -1) : line)

export const readTabRows: ReadTable = async function* (file, columns) {
  let places: readonly number[] | undefined
  let width = 0
  let line = 0
  const read = (text: string, rows: TableRow[]): void => {
    line += 1
    refuseNul(file, text, line)
    const cells = withoutReturn(text).split('\t')
    if (places === undefined) {
      places = findColumns(file, cells, columns)
      width = cells.length
    } else if (cells.length === width) rows.push({ values: places.map((at) => cells[at] ?? ''), line })
    else if (text.trim() !== '')
      throw ReleaseLine(file.label, line, `it has ${cells.length} values, and the heading ${width}`)
  }
  const decoder = new TextDecoder() // leaves a byte order mark out
  let rest = ''
  for await (const chunk of readUtf8(file)) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = lines.pop() as string
    if (rest.length > MAX_LINE) throw ReleaseLine(file.label, line + 1, `it has more than ${MAX_LINE} characters`)
    const rows: TableRow[] = []
    for (const one of lines) read(one, rows)
    yield { rows, bytes: chunk.length }
  }
  const rows: TableRow[] = []
  if (rest !== '') read(rest, rows)
  if (places === undefined) throw ReleaseFileError(file.label, 'it is empty')
  yield { rows, bytes: 0 }
}
