/** Holds the FHIR server: routes refer to it from setup on, and the start composes it. */
import type { Static } from 'typebox'
import type { Clock, Random, Runners } from '../../kernel/index.ts'
import type { Model } from '../model/service.ts'
import type { Definitions } from '../packages/service.ts'
import type { Searches } from '../search/service.ts'
import type { Storage } from '../storage/service.ts'
import type { Validator } from '../validation/service.ts'
import type { CapabilityPart } from './capability-part.ts'
import { compose, type StartedFhir } from './compose.ts'
import type { fhirConformance, fhirKeys } from './config.ts'
import { FhirNotStarted } from './errors.ts'
import type { ServerOwnedTypes } from './interactions/owned-types.ts'
import { createLargeBodies } from './large/large-bodies.ts'
import { threadDataOf } from './large/thread-data-of.ts'
import { createThreads } from './large/threads.ts'
import type { BuiltInInvocation } from './operations/built-in.ts'
import type { Operations } from './operations/registry.ts'

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
  /** What other plugins have added in their setup. */
  readonly described: readonly CapabilityPart[]
  readonly operations: Operations<BuiltInInvocation>
  readonly owned: ServerOwnedTypes
  /** Aborted when the server stops while it starts. */
  readonly signal: AbortSignal
}

export const createStart = () => {
  let started: StartedFhir | undefined
  const closing: (() => Promise<void>)[] = []
  return {
    get(): StartedFhir {
      if (started === undefined) throw FhirNotStarted()
      return started
    },
    async open(parts: StartParts): Promise<void> {
      const { definitions, conformance, fhir, validator, signal } = parts
      // The search stops indexing when the start is aborted. Its index is incomplete then, so the server must not
      // serve.
      if (signal.aborted) return
      const { catalog } = parts.model
      const { registry, fullText } = parts.searches.opened.search
      const threads = createThreads({
        definitions,
        data: threadDataOf({
          definitions,
          registry,
          referencePaths: catalog.links,
          types: [...catalog.types.keys()],
          fullTextMode: fullText.mode,
          validator,
        }),
      })
      const large = createLargeBodies({ threads, versions: parts.storage.large })
      closing.push(() => large.close())
      started = compose({
        ...parts,
        large,
        page: { default: Math.min(fhir.page_size, fhir.max_page_size), max: fhir.max_page_size },
        updateAsCreate: conformance.update_as_create,
        deletesMany: conformance.conditional_delete === 'multiple',
      })
    },
    async close(): Promise<void> {
      await Promise.all(closing.splice(0).map((close) => close()))
    },
  }
}
