/** What other plugins add in their setup: parts of /metadata, checks, operations, types they own. */

import type { Reindexing } from '../search/service.ts'
import type { Storage } from '../storage/service.ts'
import type { CapabilityPart } from './capability-part.ts'
import { createServerOwnedTypes, type ServerOwnedTypes } from './interactions/owned-types.ts'
import { createOperations, type Operations } from './operations/registry.ts'
import type { BuiltInInvocation, FhirServer } from './parts.ts'
import type { Fhir, Resources } from './service.ts'
import { createResources } from './session/create-resources.ts'
import type { SeatParts } from './session/seat.ts'

export interface Extensions {
  readonly parts: readonly CapabilityPart[]
  readonly operations: Operations<BuiltInInvocation>
  readonly owned: ServerOwnedTypes
  /** Where they are added. */
  readonly service: Fhir
  readonly resources: Resources
}

export interface ExtensionParts {
  /** Once it has started. */
  get(): FhirServer
  readonly storage: Pick<Storage, 'check'>
  readonly reindexing: Reindexing
  readonly request: SeatParts['request']
}

export const createExtensions = ({ get: server, storage, reindexing, request }: ExtensionParts): Extensions => {
  const parts: CapabilityPart[] = []
  const owned = createServerOwnedTypes()
  const operations = createOperations<BuiltInInvocation>()
  const service: Fhir = {
    describe: (part) => void parts.push(part),
    check: storage.check,
    operation: operations.add,
    ownsType: owned.add,
    deferIndexing: reindexing.deferIndexing,
    reindex: reindexing.reindex,
    get references() {
      return server().references
    },
  }
  return { parts, operations, owned, service, resources: createResources({ server, request }) }
}
