/** Ids as they are stored: a UUID as its sixteen bytes behind a zero, which no text begins with; anything else as text. */
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
const PACKED_BYTES = 17

export const packId = (id: string): Buffer =>
  id.length === 36 && UUID.test(id) ? Buffer.from(`00${id.replaceAll('-', '')}`, 'hex') : Buffer.from(id, 'utf8')

export const unpackId = (bytes: Uint8Array): string => {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (buffer.length !== PACKED_BYTES || buffer[0] !== 0) return buffer.toString('utf8')
  const hex = buffer.toString('hex', 1)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}
