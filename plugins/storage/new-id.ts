/** Makes ids of new resources: UUIDv7, which ascend with time, so that the database index grows at its end. RFC 9562, section 5.7. */
import type { Clock, Random } from '../../kernel/index.ts'

/** Hexadecimal text of each byte, `00` to `ff`. */
const BYTES: readonly string[] = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))
const byte = (value: number): string => BYTES[value & 255] as string

export const newId = ({ clock, random }: { readonly clock: Clock; readonly random: Random }): string => {
  const now = clock.now()
  const high = Math.floor(now / 65_536)
  const time = byte(high >>> 24) + byte(high >>> 16) + byte(high >>> 8) + byte(high)
  // `random.id()` is a UUID of version 4. Version 7 has its random bits in the same places; the time and version are replaced.
  return `${time}-${byte(now / 256)}${byte(now)}-7${random.id().slice(15)}`
}
