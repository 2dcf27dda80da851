/** Ids of new resources: UUIDv7, so that they grow with time and the index on them is appended to. RFC 9562, section 5.7. */
import type { Clock, Random } from '../../../kernel/index.ts'

export const newId = ({ clock, random }: { readonly clock: Clock; readonly random: Random }): string => {
  const time = clock.now().toString(16).padStart(12, '0')
  // A version 4 UUID has its random bits where version 7 has them: only the time and the version are written over.
  return `${time.slice(0, 8)}-${time.slice(8)}-7${random.id().slice(15)}`
}
