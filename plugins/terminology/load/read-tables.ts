/** Reads tables of a release into the staging database, with a hash of all that was read. */
import { createHash } from 'node:crypto'
import type { ReadOptions } from './release.ts'
import type { ReleaseFile } from './release-files.ts'
import type { Staging } from './staging.ts'
import type { Columns, ReadTable, TableRow } from './table-rows.ts'

export interface TableReader {
  /** Calls `put` for each row. */
  read(file: ReleaseFile, columns: Columns, put: (row: TableRow) => void): Promise<void>
  /** A hash of all rows that were read. */
  digest(): string
}

export const createTableReader = (
  readTable: ReadTable,
  staging: Staging,
  progress: ReadOptions['progress'],
): TableReader => {
  const hash = createHash('sha256')
  return {
    async read(file, columns, put) {
      hash.update(`${file.name}\n`)
      for await (const { rows, bytes } of readTable(file, columns)) {
        staging.together(() => {
          for (const row of rows) put(row)
        })
        hash.update(rows.map(({ values }) => values.join('\t')).join('\n'))
        progress({ file: file.name, bytes, rows: rows.length })
      }
    },
    digest: () => hash.digest('hex'),
  }
}
