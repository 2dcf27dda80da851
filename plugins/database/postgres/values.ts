/** Converts column values to JavaScript values, with pg's own parsers except for eight-byte integers. */
import pg from 'pg'

const INT8 = 20 // pg_type.oid
const INT8_ARRAY = 1016

type Parser = (text: string) => unknown

/** A Number while it is exact, a BigInt beyond. */
const readInt8 = (text: string): number | bigint => {
  const number = Number(text)
  return Number.isSafeInteger(number) ? number : BigInt(text)
}

/** `{1,NULL,3}`: integers need no quotes. */
const readInt8Array = (text: string): (number | bigint | null)[] =>
  text === '{}'
    ? []
    : text
        .slice(1, -1)
        .split(',')
        .map((one) => (one === 'NULL' ? null : readInt8(one)))

/** The parser of a type, by the number PostgreSQL gives it. */
export const parserOf = (oid: number, format: 'text' | 'binary' = 'text'): Parser => {
  if (format === 'text' && oid === INT8) return readInt8
  if (format === 'text' && oid === INT8_ARRAY) return readInt8Array
  return pg.types.getTypeParser(oid, format as 'text') as Parser
}
