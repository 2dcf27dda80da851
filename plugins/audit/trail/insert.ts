/**
 * Inserts rows, several with one statement. Binding a value takes as long as hashing a few bytes, also when it is null,
 * so columns that most events leave empty are left out where all rows do.
 */
import { type Sql, type SqlParam, sql, type Transaction } from '../../database/service.ts'
import { COLUMNS, type Row } from '../tables.ts'

const AT_ONCE = [16, 4, 1]
const RARE: readonly (keyof Row)[] = ['operation', 'query', 'number', 'proof', 'pack']

type Inserts = readonly (readonly [number, Sql])[]

const insertsOf = (name: string, columns: readonly string[]): Inserts => {
  const row = `(${columns.map(() => '?').join(', ')})`
  return AT_ONCE.map((count) => {
    const rows = Array.from({ length: count }, () => row).join(', ')
    return [count, sql(`${name}-${count}`, `INSERT INTO audit_event (${columns.join(', ')}) VALUES ${rows}`)]
  })
}
const common = COLUMNS.filter((column) => !RARE.includes(column))
const inserts = { few: insertsOf('audit.insert', common), all: insertsOf('audit.insert-all', [...common, ...RARE]) }

const isCommon = ({ operation, query, number, proof }: Row): boolean =>
  // A batch has a number.
  operation === null && query === null && number === null && proof === null

/**
 * In the order of the statement's columns. They are listed one by one, because looking them up by name takes longer.
 */
const addCommon = (params: SqlParam[], row: Row): void => {
  params.push(row.seq, row.at, row.kind, row.status, row.type, row.id, row.ver, row.patient, row.client)
  params.push(row.person, row.token, row.address, row.request, row.mac)
}
const addAll = (params: SqlParam[], row: Row): void => {
  addCommon(params, row)
  params.push(row.operation, row.query, row.number, row.proof, row.pack)
}

export const insertTrailRows = async (transaction: Transaction, rows: readonly Row[]): Promise<void> => {
  const [statements, add] = rows.every(isCommon) ? [inserts.few, addCommon] : [inserts.all, addAll]
  let from = 0
  for (const [count, statement] of statements)
    while (rows.length - from >= count) {
      const params: SqlParam[] = []
      for (let at = from; at < from + count; at += 1) add(params, rows[at] as Row)
      const written = transaction.run(statement, params)
      if (written !== undefined) await written
      from += count
    }
}
