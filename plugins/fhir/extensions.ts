/** What other plugins add in their setup: parts of /metadata, checks, operations, types they own. */

import type { Reindexing } from '../search/service.ts'
import type { WriteCheck } from '../storage/service.ts'
import type { CapabilityPart } from './capability-part.ts'
import { createOwnedTypes, type OwnedTypes } from './interactions/owned-types.ts'
import { createOperations, type Operations } from './operations/registry.ts'
import type { FhirServer, OwnInvocation } from './parts.ts'
import type { Fhir, Resources } from './service.ts'
import { createResources } from './session/create-resources.ts'
import type { SeatParts } from './session/seat.ts'

export interface Additions {
  readonly parts: readonly CapabilityPart[]
  readonly checks: readonly WriteCheck[]
  readonly operations: Operations<OwnInvocation>
  readonly owned: OwnedTypes
  /** Where they are added. */
  readonly service: Fhir
  readonly resources: Resources
}

export interface AdditionsParts {
  /** Once it has started. */
  get(): FhirServer
  readonly reindexing: Reindexing
  readonly request: SeatParts['request']
}

export const createAdditions = ({ get: server, reindexing, request }: AdditionsParts): Additions => {
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
    reindex: reindexing.reindex,
    get references() {
      return server().references
    },
  }
  return { parts, checks, operations, owned, service, resources: createResources({ server, request }) }
}
