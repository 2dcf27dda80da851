/** The FHIR server before it has started: routes hold it from setup on, start makes it. */
import type { Static } from 'typebox'
import type { Clock, Random, Runners } from '../../kernel/index.ts'
import { createElements, type Model } from '../model/service.ts'
import type { Definitions } from '../packages/service.ts'
import type { Searches } from '../search/service.ts'
import type { Storage } from '../storage/service.ts'
import type { Validator } from '../validation/service.ts'
import type { CapabilityPart } from './capability-part.ts'
import type { fhirConformance, fhirKeys } from './config.ts'
import { FhirNotStarted } from './errors.ts'
import type { ServerOwnedTypes } from './interactions/owned-types.ts'
import { createLargeBodies } from './large/large-bodies.ts'
import { threadDataOf } from './large/thread-data-of.ts'
import { createThreads } from './large/threads.ts'
import type { Operations } from './operations/registry.ts'
import type { BuiltInInvocation, FhirServer } from './parts.ts'

export interface StartParts {
  readonly definitions: Definitions
  readonly model: Model
  readonly storage: Storage
  readonly searches: Searches
  readonly run: Runners
  readonly clock: Clock
  readonly random: Random
  readonly conformance: Static<typeof fhirConformance>
  readonly fhir: Static<typeof fhirKeys>
  readonly validator: Validator | undefined
  /** Added in the setup of other plugins. */
  readonly parts: readonly CapabilityPart[]
  readonly operations: Operations<BuiltInInvocation>
  readonly owned: ServerOwnedTypes
  /** Aborted when the server stops while it starts. */
  readonly signal: AbortSignal
}

export const createStart = () => {
  let server: FhirServer | undefined
  const closing: (() => Promise<void>)[] = []
  return {
    get(): FhirServer {
      if (server === undefined) throw FhirNotStarted()
      return server
    },
    async open(parts: StartParts): Promise<void> {
      const { definitions, run, clock, random, conformance, fhir, validator, operations, owned, signal } = parts
      // The search leaves its index incomplete then.
      if (signal.aborted) return
      const { catalog, links } = parts.model
      const { store, write, checks } = parts.storage
      const { search, access, references, patients } = parts.searches.opened
      const updateAsCreate = conformance.update_as_create
      const threads = createThreads({
        definitions,
        data: threadDataOf({
          definitions,
          registry: search.registry,
          referencePaths: catalog.links,
          types: [...catalog.types.keys()],
          fullTextMode: search.fullText.mode,
          validator,
        }),
      })
      const large = createLargeBodies({ threads, versions: parts.storage.large })
      closing.push(() => large.close())
      const evaluator = access.extractingBy(large.rows)
      const page = { default: Math.min(fhir.page_size, fhir.max_page_size), max: fhir.max_page_size }
      server = {
        run,
        clock,
        random,
        catalog,
        store,
        write,
        search,
        evaluator,
        referenceWalker: links,
        large,
        references,
        elements: createElements(definitions),
        operations,
        owned,
        patientSubjects: patients,
        validator,
        checks,
        page,
        definitions,
        capabilities: { updateAsCreate, parts: parts.parts },
        deletesMany: conformance.conditional_delete === 'multiple',
      }
    },
    async close(): Promise<void> {
      await Promise.all(closing.splice(0).map((close) => close()))
    },
  }
}
