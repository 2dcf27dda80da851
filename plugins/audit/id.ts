/**
 * Ids as they are stored: a UUID as a zero byte and its sixteen bytes, anything else as text, which never begins with a
 * zero byte.
 */
const UUID_CHARS = 36
const PACKED_BYTES = 17

/** Value of a hexadecimal digit in lower case; 255 for anything else. */
const digits = new Uint8Array(128).fill(255)
for (let value = 0; value < 16; value += 1) digits[value.toString(16).charCodeAt(0)] = value

const isDash = (at: number): boolean => at === 8 || at === 13 || at === 18 || at === 23

const packUuid = (id: string): Buffer | undefined => {
  const packed = Buffer.allocUnsafe(PACKED_BYTES)
  packed[0] = 0
  let to = 1
  for (let at = 0; at < UUID_CHARS; ) {
    if (isDash(at)) {
      if (id.charCodeAt(at) !== 45) return undefined
      at += 1
      continue
    }
    const high = digits[id.charCodeAt(at)] ?? 255
    const low = digits[id.charCodeAt(at + 1)] ?? 255
    if (high > 15 || low > 15) return undefined
    packed[to] = high * 16 + low
    to += 1
    at += 2
  }
  return packed
}

export const encodeId = (id: string): Buffer =>
  (id.length === UUID_CHARS ? packUuid(id) : undefined) ?? Buffer.from(id, 'utf8')

export const decodeId = (bytes: Uint8Array): string => {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (buffer.length !== PACKED_BYTES || buffer[0] !== 0) return buffer.toString('utf8')
  const hex = buffer.toString('hex', 1)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}
