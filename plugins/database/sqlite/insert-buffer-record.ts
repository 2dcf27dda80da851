/**
 * The binary record in the table `backlog` that holds the buffered rows of one COMMIT until they are inserted into their
 * tables. It has three parts: the count of the floats that follow; for each INSERT statement its number in the table
 * `backlog_insert`, the count of its rows, and the parameters of the rows; and a JSON array of texts. NaN stands for null,
 * Infinity for the next text of the array. All floats have 64 bits in the byte order of the machine, because formatting a
 * value as decimal text takes longer than inserting it.
 */
import type { SqlScalar } from '../contract.ts'
import { type BufferedRows, toPlain } from './buffered-rows.ts'

const BYTES = Float64Array.BYTES_PER_ELEMENT

const FIRST_FLOATS = 1_024
/** Floats of the memory that is used again; that of a larger record is given back. */
const MOST_FLOATS = 65_536

/**
 * Encodes the rows that are not persisted yet; undefined when there are none. `numberOf` gives the number of an insert in the
 * table `backlog_insert`. The bytes are valid until the next call, which uses the same memory.
 */
export type EncodeRecord = (
  kept: Iterable<BufferedRows>,
  numberOf: (rows: BufferedRows) => number,
) => Buffer | undefined

export const createRecordEncoder = (): EncodeRecord => {
  let floats = new Float64Array(FIRST_FLOATS)

  return (kept, numberOf) => {
    const fresh: BufferedRows[] = []
    let count = 0
    for (const rows of kept) {
      const added = rows.rows - rows.written.rows
      if (added === 0) continue
      fresh.push(rows)
      count += 2 + added * rows.insert.width
    }
    if (count === 0) return undefined
    const texts: string[] = []
    for (const rows of fresh) rows.addTextsBehind(rows.written, texts)
    const json = JSON.stringify(texts)
    const bytesOfJson = Buffer.byteLength(json)
    const size = 1 + count + Math.ceil(bytesOfJson / BYTES)
    const numbers = size <= floats.length ? floats : new Float64Array(2 * size)
    if (numbers.length <= MOST_FLOATS) floats = numbers
    numbers[0] = count
    let at = 1
    for (const rows of fresh) {
      const values = rows.valuesBehind(rows.written)
      numbers[at] = numberOf(rows)
      numbers[at + 1] = rows.rows - rows.written.rows
      numbers.set(values, at + 2)
      at += 2 + values.length
    }
    const bytes = Buffer.from(numbers.buffer, 0, (1 + count) * BYTES + bytesOfJson)
    bytes.write(json, (1 + count) * BYTES)
    return bytes
  }
}

/**
 * Calls `put` for each insert with the parameters of its rows. `widthOf` gives the width of a row by the number of its
 * insert.
 */
export const readRecord = (
  record: Uint8Array,
  widthOf: (number: number) => number,
  put: (number: number, params: readonly SqlScalar[]) => void,
): void => {
  // Copied, because a Float64Array needs an aligned offset.
  const bytes = new Uint8Array(record)
  const [count] = new Float64Array(bytes.buffer, 0, 1)
  const end = 1 + (count as number)
  const numbers = new Float64Array(bytes.buffer, 0, end)
  const texts = (JSON.parse(Buffer.from(bytes.buffer, end * BYTES).toString('utf8')) as string[]).values()
  const nextText = (): string => texts.next().value as string
  for (let at = 1; at < end; ) {
    const [number, rows] = numbers.subarray(at, at + 2) as unknown as [number, number]
    const start = at + 2
    at = start + rows * widthOf(number)
    put(
      number,
      Array.from(numbers.subarray(start, at), (value) => toPlain(value, nextText)),
    )
  }
}
