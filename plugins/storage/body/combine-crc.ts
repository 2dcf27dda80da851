/**
 * The CRC-32 of two texts, one after the other, from the CRC of each: the first is moved on by as many zero bits as the
 * second is long, which is a matrix over the two-element field applied again and again. RFC 1952, section 8.
 */

const POLYNOMIAL = 0xedb88320
const BITS = 32

/** A row for each bit of a CRC. */
type Matrix = Uint32Array

const apply = (matrix: Matrix, vector: number): number => {
  let sum = 0
  for (let bit = 0, rest = vector; rest !== 0; bit += 1, rest >>>= 1) if ((rest & 1) !== 0) sum ^= matrix[bit] as number
  return sum >>> 0
}

const square = (matrix: Matrix): Matrix => matrix.map((row) => apply(matrix, row))

/** What one zero bit behind a text does to its CRC. */
const oneZero: Matrix = Uint32Array.from({ length: BITS }, (_, bit) => (bit === 0 ? POLYNOMIAL : 2 ** (bit - 1)))
const oneZeroByte = square(square(square(oneZero)))

/** `length`: bytes of the second text. */
export const combineCrc = (first: number, second: number, length: number): number => {
  let crc = first
  let zeros = oneZeroByte
  for (let left = length; left > 0; left = Math.floor(left / 2)) {
    if (left % 2 === 1) crc = apply(zeros, crc)
    zeros = square(zeros)
  }
  return (crc ^ second) >>> 0
}
