/** What other plugins add in their setup: parts of /metadata, checks, operations, types they own. */
import type { RequestContext, Restriction } from '../../kernel/index.ts'
import { RESULT_PARAMETERS, type Reindexing, type Searches } from '../search/service.ts'
import type { Storage } from '../storage/service.ts'
import type { BesideResources } from './beside.ts'
import type { CapabilityPart } from './capability-part.ts'
import type { StartedFhir } from './compose.ts'
import { createServerOwnedTypes, type ServerOwnedTypes } from './interactions/owned-types.ts'
import type { BuiltInInvocation } from './operations/built-in.ts'
import type { Operation } from './operations/operation.ts'
import { createOperations, type Operations } from './operations/registry.ts'
import type { Fhir, Resources } from './service.ts'
import { createResources } from './session/create-resources.ts'
import type { SeatParts } from './session/seat.ts'

export interface Extensions {
  readonly described: readonly CapabilityPart[]
  /** Restrictions of all callers. */
  readonly standing: readonly Restriction[]
  readonly operations: Operations<BuiltInInvocation>
  readonly owned: ServerOwnedTypes
  readonly beside: BesideResources | undefined
  /** The service through which plugins add them. */
  readonly service: Fhir
  readonly resources: Resources
}

export interface ExtensionParts {
  /** The started server. Throws before the start. */
  get(): StartedFhir
  readonly storage: Pick<Storage, 'check'>
  readonly searches: Searches
  readonly reindexing: Reindexing
  readonly request: SeatParts['request']
}

export const createExtensions = ({ get, storage, searches, reindexing, request }: ExtensionParts): Extensions => {
  const described: CapabilityPart[] = []
  const standing: Restriction[] = []
  const owned = createServerOwnedTypes()
  let beside: BesideResources | undefined
  const operations = createOperations<BuiltInInvocation>()
  const service: Fhir = {
    describe: (part) => void described.push(part),
    check: storage.check,
    operation: operations.add,
    ownsType: owned.add,
    restrictEveryone({ authorize }, restriction) {
      authorize.tap('restriction of everyone', (_request, _interaction, ruling) => ruling.restrict(restriction))
      standing.push(restriction)
    },
    get outline() {
      const { capabilities } = get()
      return {
        async capabilities(ctx: RequestContext): Promise<string> {
          const { text } = await capabilities({ ctx, headers: {}, url: '/metadata' })
          return String(text)
        },
        searchMeaning: searches.opened.search.registry.state,
        operations: operations.all as readonly Operation[],
        resultParameters: RESULT_PARAMETERS,
      }
    },
    showBeside(resources) {
      if (beside !== undefined) throw new Error('there are resources beside the stored ones already')
      beside = resources
      owned.reserve(resources)
    },
    isReadElsewhere: (type) => owned.readElsewhere.has(type),
    deferIndexing: reindexing.deferIndexing,
    checkScope: reindexing.checkScope,
    reindex: reindexing.reindex,
    get references() {
      // Throws before the start.
      get()
      return searches.opened.references
    },
  }
  const resources = createResources({ view: () => get().view, late: () => get().sessions, request, standing })
  return {
    ...{ described, standing, operations, owned, service, resources },
    get beside() {
      return beside
    },
  }
}
