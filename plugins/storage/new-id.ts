/** Ids of new resources: UUIDv7, so that they grow with time and the index on them is appended to. RFC 9562, section 5.7. */
import type { Clock, Random } from '../../kernel/index.ts'

/** `00` to `ff`. */
const BYTES: readonly string[] = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))
const byte = (value: number): string => BYTES[value & 255] as string

export const newId = ({ clock, random }: { readonly clock: Clock; readonly random: Random }): string => {
  const now = clock.now()
  const high = Math.floor(now / 65_536)
  const time = byte(high >>> 24) + byte(high >>> 16) + byte(high >>> 8) + byte(high)
  // A version 4 UUID has its random bits where version 7 has them: only the time and the version are written over.
  return `${time}-${byte(now / 256)}${byte(now)}-7${random.id().slice(15)}`
}
