/** Settings of the storage. */
import { Type } from '../../kernel/index.ts'

export const fhirSection = Type.Object({
  cache_bytes: Type.Integer({
    default: 32 * 1024 * 1024,
    minimum: 0,
    description: 'Bytes of current resources kept in memory; 0 keeps none.',
  }),
})
