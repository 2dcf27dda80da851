/** What other plugins add in their setup: parts of /metadata, checks, operations, types they own. */

import type { Reindexing } from '../search/service.ts'
import type { WriteCheck } from '../storage/service.ts'
import type { CapabilityPart } from './capability-part.ts'
import { createOwnedTypes, type OwnedTypes } from './interactions/owned-types.ts'
import { createOperations, type Operations } from './operations/registry.ts'
import type { FhirServer, OwnInvocation } from './parts.ts'
import type { Fhir } from './service.ts'

export interface Additions {
  readonly parts: readonly CapabilityPart[]
  readonly checks: readonly WriteCheck[]
  readonly operations: Operations<OwnInvocation>
  readonly owned: OwnedTypes
  /** Where they are added. */
  readonly service: Fhir
}

export interface AdditionsParts {
  /** Once it has started. */
  get(): FhirServer
  readonly reindexing: Reindexing
}

/** What reads by itself and for nobody in particular is not given up. */
const NEVER = new AbortController().signal

export const createAdditions = ({ get: server, reindexing }: AdditionsParts): Additions => {
  const parts: CapabilityPart[] = []
  const checks: WriteCheck[] = []
  const owned = createOwnedTypes()
  const operations = createOperations<OwnInvocation>()
  const service: Fhir = {
    describe: (part) => void parts.push(part),
    check: (check) => void checks.push(check),
    operation: operations.add,
    owns: owned.add,
    deferIndexing: reindexing.deferIndexing,
    stored: (type, name) => server().search.findCanonical(type, name, { signal: NEVER }),
    reindex: reindexing.reindex,
    get references() {
      return server().references
    },
  }
  return { parts, checks, operations, owned, service }
}
