/** Holds the FHIR server: routes refer to it from setup on, and the start composes it. */
import type { Static } from 'typebox'
import { type ComposeParts, compose, type StartedFhir } from './compose.ts'
import type { fhirConformance, fhirKeys } from './config.ts'
import { FhirNotStarted } from './errors.ts'
import { createLargeBodies } from './large/large-bodies.ts'
import { threadDataOf } from './large/thread-data-of.ts'
import { createThreads } from './large/threads.ts'

/** What `compose` is given, but for what the start makes itself or reads from settings. */
export interface StartParts extends Omit<ComposeParts, 'large' | 'page' | 'updateAsCreate' | 'deletesMany'> {
  readonly conformance: Static<typeof fhirConformance>
  readonly fhir: Static<typeof fhirKeys>
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
