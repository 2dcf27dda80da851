/** The FHIR server before it has started: routes hold it from setup on, start makes it. */
import type { Static } from 'typebox'
import type { Clock, Logger, Random, Runners } from '../../kernel/index.ts'
import type { Database } from '../database/service.ts'
import { loadCatalog } from '../model/catalog.ts'
import { createLinks } from '../model/references/reference-walker.ts'
import { createElements } from '../model/snapshot/element-index.ts'
import type { Definitions } from '../packages/service.ts'
import { createAccessEvaluator } from '../search/access/access-evaluator.ts'
import { loadModel } from '../search/definition/load-model.ts'
import { createPatients } from '../search/definition/patients.ts'
import { createPostedWrites } from '../search/index/client-parameter-check.ts'
import { openSearch } from '../search/open-search.ts'
import type { CodeExpander } from '../search/query/code-expander.ts'
import { createReferences } from '../search/reference-index.ts'
import { trackWrites } from '../storage/open-transactions.ts'
import { openStore } from '../storage/storage.ts'
import type { WriteCheck } from '../storage/write-check.ts'
import { createWrite } from '../storage/write-path.ts'
import type { Validator } from '../validation/service.ts'
import type { CapabilityPart } from './capability.ts'
import type { conformanceSection, fhirSection } from './config.ts'
import { NotStarted } from './errors.ts'
import type { OwnedTypes } from './interactions/server-owned-types.ts'
import { createLargeBodies } from './large/large-bodies.ts'
import { threadDataOf } from './large/thread-data-of.ts'
import { createThreads } from './large/threads.ts'
import type { OwnInvocation } from './operations/own.ts'
import type { Operations } from './operations/registry.ts'
import type { FhirServer } from './parts.ts'
import { securityContextCheck } from './security-context-check.ts'

export interface LateParts {
  readonly database: Database
  readonly definitions: Definitions
  readonly run: Runners
  readonly clock: Clock
  readonly random: Random
  readonly conformance: Static<typeof conformanceSection>
  readonly fhir: Static<typeof fhirSection>
  readonly validator: Validator | undefined
  /** Added in the setup of other plugins. */
  readonly checks: readonly WriteCheck[]
  readonly parts: readonly CapabilityPart[]
  readonly operations: Operations<OwnInvocation>
  readonly owned: OwnedTypes
  readonly log: Logger
  readonly busy: (reason: string) => void
  /** Aborted when the server stops while it starts. */
  readonly signal: AbortSignal
  readonly terminology: CodeExpander | undefined
}

export const createLateServer = () => {
  let server: FhirServer | undefined
  const closing: (() => Promise<void>)[] = []
  let deferred = false
  return {
    get(): FhirServer {
      if (server === undefined) throw NotStarted()
      return server
    },
    async open(parts: LateParts): Promise<void> {
      const { database, definitions, run, clock, random, conformance, fhir, log, busy, signal } = parts
      const { validator, checks: given, operations, owned, terminology } = parts
      const catalog = await loadCatalog(database, definitions)
      const { model, caseless } = await loadModel(catalog, definitions, log)
      const types = [...catalog.types.keys()]
      const writes = trackWrites(database)
      const store = await openStore({ database: writes.database, clock, types, cacheBytes: fhir.cache_bytes })
      const links = createLinks(catalog.links)
      const search = await openSearch({
        database,
        random,
        clock,
        log,
        model,
        typeNames: types,
        shapes: catalog.shapes,
        caseless,
        links,
        store,
        settled: writes.settled,
        terminology,
        definitions,
        wordMode: fhir.full_text,
        cacheBytes: fhir.cache_bytes,
      })
      const { registry, indexer } = search
      if (!deferred) {
        busy('search indexes backfilling')
        await indexer.complete(signal)
        await search.words.complete(signal)
        if (signal.aborted) return
        indexer.start()
        closing.push(() => indexer.stop())
      }
      const posted = createPostedWrites({ registry, indexer, store, types: new Set(types) })
      const checks = [securityContextCheck, posted, ...given]
      const evaluator = createAccessEvaluator({
        search,
        store,
        now: () => clock.now(),
        types: new Set(types),
        links,
      })
      const patients = createPatients(model)
      const observer = { ...search.index, patients: patients.ofChange }
      const updateAsCreate = conformance.update_as_create
      const threads = createThreads({
        definitions,
        data: threadDataOf({ definitions, registry, links: catalog.links, types, wordMode: fhir.full_text, validator }),
      })
      const large = createLargeBodies({ threads, least: fhir.large_body_bytes })
      closing.push(() => large.close())
      const write = createWrite({ store, run, updateAsCreate, observer, checks, large })
      const page = { usual: Math.min(fhir.page_size, fhir.max_page_size), most: fhir.max_page_size }
      server = {
        run,
        clock,
        random,
        catalog,
        store,
        write,
        search,
        evaluator,
        links,
        large,
        references: createReferences({
          links,
          registry: search.registry,
          types: store.types,
          isEmbedded: database.kind !== 'postgres',
        }),
        elements: createElements(definitions),
        operations,
        owned,
        patients,
        validator,
        checks,
        page,
        definitions,
        capabilities: { updateAsCreate, parts: parts.parts },
        deletesMany: conformance.conditional_delete === 'multiple',
      }
    },
    deferIndexing(): void {
      deferred = true
    },
    async close(): Promise<void> {
      await Promise.all(closing.splice(0).map((close) => close()))
    },
  }
}
