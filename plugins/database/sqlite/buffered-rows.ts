/**
 * Rows of one deferred insert in the insert buffer, as flat arrays without an object per row: thousands are buffered at
 * a time, and the garbage collector need not trace and copy them one by one.
 */
import type { DeferredInsert, Sql, SqlParam, SqlScalar } from '../contract.ts'

/** Stands among the values for the next text. Buffered numbers are never infinite or NaN. */
export const TEXT_MARK = Number.POSITIVE_INFINITY
const NULL = Number.NaN

/** Turns a stored number back into the parameter. */
export const toPlain = (value: number, texts: () => string): SqlScalar =>
  value === TEXT_MARK ? texts() : Number.isNaN(value) ? null : value

const FIRST_ROWS = 64
/** Bits of a double that hold an exact integer. */
const SAFE_BITS = 53
/** Bits of a sort key that the first parameter may take. */
const MAX_FIRST_BITS = 26

/** A number that orders texts approximately, by their first three characters. */
const placeOf = (text: string): number =>
  (text.charCodeAt(0) || 0) * 2 ** 32 + (text.charCodeAt(1) || 0) * 2 ** 16 + (text.charCodeAt(2) || 0)

interface Range {
  readonly least: number
  /** Half of the distance to the greatest value: the whole distance may exceed the largest double. */
  readonly half: number
}

const rangeOf = (values: Float64Array): Range => {
  let least = Number.POSITIVE_INFINITY
  let most = Number.NEGATIVE_INFINITY
  for (const value of values) {
    if (value < least) least = value
    if (value > most) most = value
  }
  return { least, half: most / 2 - least / 2 }
}

/** Scales values to whole numbers of so many bits, in the same order. */
const toPlaces = (values: Float64Array, { least, half }: Range, bits: number): void => {
  const scale = half === 0 ? 0 : (2 ** bits - 1) / half
  for (let at = 0; at < values.length; at += 1)
    values[at] = Math.floor(((values[at] as number) / 2 - least / 2) * scale)
}

/** Numbers of rows and texts at some time. */
export interface BufferedLength {
  readonly rows: number
  readonly texts: number
}

export class BufferedRows {
  readonly insert: DeferredInsert
  rows = 0
  /** How many rows from the first on are in the table `backlog`, committed or written by the open transaction. */
  written: BufferedLength = { rows: 0, texts: 0 }
  /** Parameters, one row after the other. */
  #values: Float64Array
  readonly #texts: string[] = []
  /** For each row the index of its first text. */
  readonly #textsOf: number[] = []

  constructor(insert: DeferredInsert) {
    this.insert = insert
    this.#values = new Float64Array(FIRST_ROWS * insert.width)
  }

  get texts(): number {
    return this.#texts.length
  }

  get length(): BufferedLength {
    return { rows: this.rows, texts: this.texts }
  }

  /**
   * Adds rows: parameters of one after the other, and the last of all rows if they do not hold it. Returns the number
   * of rows added: 0 when a parameter is infinite or NaN.
   */
  add(params: readonly SqlScalar[], last: SqlScalar | undefined): number {
    const { width } = this.insert
    const given = last === undefined ? width : width - 1
    const count = params.length / given
    if ((this.rows + count) * width > this.#values.length) this.#grow((this.rows + count) * width)
    const before = this.length
    let at = this.rows * width
    for (let from = 0; from < params.length; from += given) {
      this.#textsOf.push(this.#texts.length)
      for (let n = from; n < from + given; n += 1, at += 1)
        if (!this.#set(at, params[n] as SqlScalar)) return this.#refuse(before)
      if (last === undefined) continue
      if (!this.#set(at, last)) return this.#refuse(before)
      at += 1
    }
    this.rows += count
    return count
  }

  #set(at: number, param: SqlScalar): boolean {
    if (typeof param === 'number') {
      if (!Number.isFinite(param)) return false
      this.#values[at] = param
    } else if (param === null) this.#values[at] = NULL
    else {
      this.#values[at] = TEXT_MARK
      this.#texts.push(param)
    }
    return true
  }

  #refuse(before: BufferedLength): 0 {
    this.cut(before)
    return 0
  }

  /** Removes the rows and texts after a length. */
  cut({ rows, texts }: BufferedLength): void {
    this.rows = rows
    this.#texts.length = texts
    this.#textsOf.length = rows
  }

  /** The values after a length. */
  valuesBehind({ rows }: BufferedLength): Float64Array {
    const { width } = this.insert
    return this.#values.subarray(rows * width, this.rows * width)
  }

  /** Adds the texts after a length to a list. */
  addTextsBehind({ texts }: BufferedLength, list: string[]): void {
    for (let at = texts; at < this.#texts.length; at += 1) list.push(this.#texts[at] as string)
  }

  /**
   * Runs the inserts approximately in the order of the table; rows with equal keys keep their order. Yields the number
   * of rows of each insert.
   */
  *flush(run: (statement: Sql, params: readonly SqlParam[]) => void): Generator<number> {
    if (this.rows === 0) return
    const { width, counts } = this.insert
    const order = this.#order()
    for (let from = 0; from < order.length; from += counts.length) {
      const to = Math.min(from + counts.length, order.length)
      const all: SqlScalar[] = new Array((to - from) * width)
      let next = 0
      for (let row = from; row < to; row += 1) next = this.#copy(order[row] as number, all, next)
      run(counts[to - from - 1] as Sql, all)
      yield to - from
    }
  }

  #copy(row: number, into: SqlScalar[], at: number): number {
    const { width } = this.insert
    const start = row * width
    let text = this.#textsOf[row] as number
    let next = at
    for (let n = start; n < start + width; n += 1) {
      const value = this.#values[n] as number
      into[next++] = value === TEXT_MARK ? (this.#texts[text++] as string) : Number.isNaN(value) ? null : value
    }
    return next
  }

  #grow(least: number): void {
    const grown = new Float64Array(Math.max(least, 2 * this.#values.length))
    grown.set(this.#values)
    this.#values = grown
  }

  /** Row numbers sorted by the first two parameters, approximately: close values may be out of order. */
  #order(): Float64Array {
    const count = this.rows
    const rowBits = Math.ceil(Math.log2(count + 1))
    const keys = this.#column(0)
    const range = rangeOf(keys)
    // Column numbers of the search index are whole numbers, and need few bits.
    const bits = Math.min(MAX_FIRST_BITS, Math.ceil(Math.log2(2 * range.half + 1)))
    toPlaces(keys, range, bits)
    if (this.insert.width > 1) {
      const others = this.#column(1)
      const restBits = SAFE_BITS - rowBits - bits
      toPlaces(others, rangeOf(others), restBits)
      for (let row = 0; row < count; row += 1)
        keys[row] = (keys[row] as number) * 2 ** restBits + (others[row] as number)
    }
    // The lowest bits of each key hold the row number, so that the array is sorted without a comparison function.
    for (let row = 0; row < count; row += 1) keys[row] = (keys[row] as number) * 2 ** rowBits + row
    keys.sort()
    for (let at = 0; at < count; at += 1) keys[at] = (keys[at] as number) % 2 ** rowBits
    return keys
  }

  #column(column: 0 | 1): Float64Array {
    const { width } = this.insert
    const found = new Float64Array(this.rows)
    for (let row = 0; row < this.rows; row += 1) {
      const value = this.#values[row * width + column] as number
      if (value === TEXT_MARK) found[row] = placeOf(this.#textAt(row, column))
      else if (!Number.isNaN(value)) found[row] = value
    }
    return found
  }

  #textAt(row: number, column: 0 | 1): string {
    const isSecond = column === 1 && this.#values[row * this.insert.width] === TEXT_MARK
    return this.#texts[(this.#textsOf[row] as number) + (isSecond ? 1 : 0)] as string
  }
}
