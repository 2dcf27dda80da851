/**
 * The columns of a prepared statement: which are sent in binary, and how each becomes a value. Bodies and integers are
 * sent as bytes: in text a body would be twice as long and decoded character by character.
 */
import { parserOf } from './values.ts'

export interface Columns {
  /** Result format codes for Bind: how many, and each as 0 text or 1 binary. */
  readonly formats: readonly number[]
  /** Reads a DataRow message whose fields begin at `at` (its column count). */
  row(bytes: Buffer, at: number): Record<string, unknown>
}

type Read = (bytes: Buffer, start: number, end: number) => unknown

interface Column {
  readonly name: string
  readonly binary: boolean
  readonly read: Read
}

const readText: Read = (bytes, start, end) => bytes.toString('utf8', start, end)

/**
 * Copied, and not into the pool of small buffers: a body that is cached would keep all of the chunk, or of its part of the pool, in
 * memory.
 */
const readBytes: Read = (bytes, start, end) => {
  const own = Buffer.allocUnsafeSlow(end - start)
  bytes.copy(own, 0, start, end)
  return own
}

/** A Number while it is exact, a BigInt beyond. */
const readInt8: Read = (bytes, start) => {
  const number = bytes.readInt32BE(start) * 2 ** 32 + bytes.readUInt32BE(start + 4)
  return Number.isSafeInteger(number) ? number : bytes.readBigInt64BE(start)
}

// By pg_type.oid. https://www.postgresql.org/docs/17/catalog-pg-type.html
const BINARY: ReadonlyMap<number, Read> = new Map<number, Read>([
  [16, (bytes, start) => bytes[start] === 1], // bool
  [17, readBytes], // bytea
  [20, readInt8],
  [21, (bytes, start) => bytes.readInt16BE(start)], // int2
  [23, (bytes, start) => bytes.readInt32BE(start)], // int4
  [701, (bytes, start) => bytes.readDoubleBE(start)], // float8
])
const TEXT = new Set([25, 1043, 1042, 19, 705]) // text, varchar, bpchar, name, unknown

const toColumn = (name: string, oid: number): Column => {
  const binary = BINARY.get(oid)
  if (binary !== undefined) return { name, binary: true, read: binary }
  if (TEXT.has(oid)) return { name, binary: false, read: readText }
  const parse = parserOf(oid)
  return { name, binary: false, read: (bytes, start, end) => parse(bytes.toString('utf8', start, end)) }
}

/** From a RowDescription message whose fields begin at `at` (its column count). */
export const readRowDescription = (bytes: Buffer, at: number): Columns => {
  const count = bytes.readInt16BE(at)
  const columns: Column[] = []
  let next = at + 2
  for (let index = 0; index < count; index += 1) {
    const end = bytes.indexOf(0, next)
    // After the name: table, column, type, size, modifier, format.
    columns.push(toColumn(bytes.toString('utf8', next, end), bytes.readUInt32BE(end + 7)))
    next = end + 19
  }
  return {
    formats: columns.map(({ binary }) => (binary ? 1 : 0)),
    row(row, from) {
      const made: Record<string, unknown> = {}
      let start = from + 2
      for (const { name, read } of columns) {
        const length = row.readInt32BE(start)
        start += 4
        if (length === -1) made[name] = null
        else {
          made[name] = read(row, start, start + length)
          start += length
        }
      }
      return made
    },
  }
}

/** A statement without rows. */
export const NO_COLUMNS: Columns = Object.freeze({ formats: [], row: () => ({}) })
