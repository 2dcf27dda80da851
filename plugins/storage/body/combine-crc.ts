/**
 * Computes the CRC-32 of two concatenated texts from the CRC of each. The first CRC is advanced by as many zero bytes as the
 * second text is long. Advancing is linear over the field of two elements, so it is a multiplication by a matrix, and
 * squaring the matrix doubles the number of bytes. RFC 1952, section 8.
 */

const POLYNOMIAL = 0xedb88320
const BITS = 32

/** A 32×32 matrix over the field of two elements: one 32-bit number for each bit of a CRC. */
type Matrix = Uint32Array

const apply = (matrix: Matrix, vector: number): number => {
  let sum = 0
  for (let bit = 0, rest = vector; rest !== 0; bit += 1, rest >>>= 1) if ((rest & 1) !== 0) sum ^= matrix[bit] as number
  return sum >>> 0
}

const square = (matrix: Matrix): Matrix => matrix.map((row) => apply(matrix, row))

/** Advances a CRC by one zero bit. */
const oneZero: Matrix = Uint32Array.from({ length: BITS }, (_, bit) => (bit === 0 ? POLYNOMIAL : 2 ** (bit - 1)))
const oneZeroByte = square(square(square(oneZero)))

/** `length`: length of the second text in bytes. */
export const combineCrc = (first: number, second: number, length: number): number => {
  let crc = first
  let zeros = oneZeroByte
  for (let left = length; left > 0; left = Math.floor(left / 2)) {
    if (left % 2 === 1) crc = apply(zeros, crc)
    zeros = square(zeros)
  }
  return (crc ^ second) >>> 0
}
