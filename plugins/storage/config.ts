/** The settings of storage, in the section [fhir]. */
import { Type } from '../../kernel/index.ts'

export const fhirSection = Type.Object({
  cache_bytes: Type.Optional(
    Type.Integer({
      minimum: 0,
      sample: 32 * 1024 * 1024,
      description:
        'Bytes of current resources kept in memory; 0 keeps none. When unset, a sixteenth of memory_bytes, from 8 to 256 MiB.',
    }),
  ),
  large_body_bytes: Type.Integer({
    default: 256 * 1024,
    minimum: 0,
    maximum: 1024 * 1024 * 1024,
    description:
      'Bodies and stored resources of at least so many bytes are read, checked and indexed by other threads, so that other requests do not wait for them.',
  }),
})
