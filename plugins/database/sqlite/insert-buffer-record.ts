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

/**
 * Encodes the rows that are not persisted yet. `numberOf` gives the number of an insert in the table `backlog_insert`.
 */
export const toRecord = (
  kept: Iterable<BufferedRows>,
  numberOf: (rows: BufferedRows) => number,
): Buffer | undefined => {
  const parts: (Float64Array | readonly [number, number])[] = []
  let texts: readonly string[] = []
  let count = 0
  for (const rows of kept) {
    const fresh = rows.rows - rows.written.rows
    if (fresh === 0) continue
    const behind = rows.behind(rows.written)
    parts.push([numberOf(rows), fresh], behind.values)
    count += 2 + behind.values.length
    if (behind.texts.length > 0) texts = texts.length === 0 ? behind.texts : [...texts, ...behind.texts]
  }
  if (count === 0) return undefined
  const json = Buffer.from(JSON.stringify(texts))
  const numbers = new Float64Array(1 + count + Math.ceil(json.length / BYTES))
  numbers[0] = count
  let at = 1
  for (const part of parts) {
    numbers.set(part, at)
    at += part.length
  }
  const bytes = Buffer.from(numbers.buffer, 0, (1 + count) * BYTES + json.length)
  bytes.set(json, (1 + count) * BYTES)
  return bytes
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
