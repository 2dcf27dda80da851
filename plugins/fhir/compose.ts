/** Composes the interactions: each gets the parts it uses once, and the view with each call. */
import type { Clock, Random, Restriction, Runners } from '../../kernel/index.ts'
import { createElements, createXmlCodec, type Model, type TypeCatalog } from '../model/service.ts'
import type { Definitions } from '../packages/service.ts'
import type { Searches } from '../search/service.ts'
import type { Storage, VersionStore } from '../storage/service.ts'
import type { Validator } from '../validation/service.ts'
import { createAuditDetails } from './audit-details.ts'
import { type BesideResources, withBeside } from './beside.ts'
import { createBatch } from './bundle/batch.ts'
import { createTransaction } from './bundle/transaction.ts'
import type { CapabilityPart } from './capability-part.ts'
import { type Bundle, createBundle } from './interactions/bundle.ts'
import { type Capabilities, createCapabilities } from './interactions/capabilities.ts'
import { createPerformChange } from './interactions/change.ts'
import { createCheckContent } from './interactions/check-content.ts'
import { create } from './interactions/create.ts'
import { deleteResource } from './interactions/delete.ts'
import { createGuardChange } from './interactions/guard-change.ts'
import { history } from './interactions/history.ts'
import { createInteractions, type Interactions } from './interactions/interactions.ts'
import { createToModification } from './interactions/modify.ts'
import { createAddressOperations } from './interactions/operation.ts'
import type { ServerOwnedTypes } from './interactions/owned-types.ts'
import { patch } from './interactions/patch.ts'
import { read } from './interactions/read.ts'
import { createPerformRead } from './interactions/read-interaction.ts'
import { search } from './interactions/search.ts'
import { update } from './interactions/update.ts'
import type { LargeBodies } from './large/large-bodies.ts'
import { createPrepareVersions } from './large/prepare-versions.ts'
import { createPrepareWrite } from './large/prepare-write.ts'
import type { BuiltInInvocation } from './operations/built-in.ts'
import type { BuiltInOperationParts } from './operations/built-in-operations.ts'
import { createToOperationChange } from './operations/changes.ts'
import { createDryRun } from './operations/dry-run.ts'
import type { Operations } from './operations/registry.ts'
import type { ResourcesParts } from './session/create-resources.ts'
import { createReads } from './session/reads.ts'
import type { View } from './view.ts'
import { createXmlConversion, type XmlConversion } from './xml/conversion.ts'

/** The server once it has started. */
export interface StartedFhir {
  /** View of the committed data. */
  readonly view: View
  readonly interactions: Interactions
  readonly bundle: Bundle
  readonly capabilities: Capabilities
  readonly catalog: Pick<TypeCatalog, 'types'>
  readonly xml: XmlConversion
  /** Returns the current version of `Type/id` if it is in memory. */
  readonly getCurrent: VersionStore['getCurrent']
  /** Used by the built-in operations. */
  readonly builtIn: ReturnType<BuiltInOperationParts['late']>
  /** Used by sessions. */
  readonly sessions: ReturnType<ResourcesParts['late']>
}

export interface ComposeParts {
  readonly definitions: Definitions
  readonly model: Model
  readonly storage: Storage
  readonly searches: Searches
  readonly run: Runners
  readonly clock: Clock
  readonly random: Random
  readonly large: LargeBodies
  readonly validator: Validator | undefined
  readonly described: readonly CapabilityPart[]
  /** Restrictions of all callers. */
  readonly standing: readonly Restriction[]
  readonly operations: Operations<BuiltInInvocation>
  readonly owned: ServerOwnedTypes
  readonly beside: BesideResources | undefined
  /** Entries of a page when `_count` is not given, and the largest number a page may have. */
  readonly page: { readonly default: number; readonly max: number }
  /** The setting [conformance] update_as_create. */
  readonly updateAsCreate: boolean
  /** [conformance] conditional_delete is "multiple": a conditional delete deletes all matches. */
  readonly deletesMany: boolean
}

/** Parts that several interactions use. */
const commonOf = (given: ComposeParts) => {
  const { model, storage, searches, definitions, clock, random, large, validator, owned, page, updateAsCreate } = given
  const { catalog, links: referenceWalker } = model
  const { store, write, checks } = storage
  const { search, references, patients } = searches.opened
  const audit = createAuditDetails(patients)
  const checkContent = createCheckContent({ validator, checks, references })
  return {
    catalog,
    referenceWalker,
    clock,
    random,
    large,
    owned,
    validator,
    page,
    updateAsCreate,
    definitions,
    write,
    database: store.database,
    registry: search.registry,
    elements: createElements(definitions),
    xml: createXmlConversion({
      codec: createXmlCodec({ definitions, isType: (name) => catalog.types.has(name) }),
      large,
    }),
    audit,
    prepareVersions: createPrepareVersions({ large, catalog, patientSubjects: patients }),
    prepareWrite: createPrepareWrite(large),
    guardChange: createGuardChange(owned),
    checkContent,
    toModification: createToModification({ catalog, large, checkContent, audit }),
    /** For changes whose content was validated before. */
    checkUnvalidated: createCheckContent({ validator: undefined, checks, references }),
  }
}

export const compose = (given: ComposeParts): StartedFhir => {
  const { storage, searches, run, random, large, operations, owned, beside, page, described, standing, deletesMany } =
    given
  const { search: opened, access, reads } = searches.opened
  const common = commonOf(given)
  const { catalog, audit, checkUnvalidated } = common
  const changes = { create: create(common), update: update(common), patch: patch(common) }
  const sessionChanges = {
    ...common,
    readAsOf: searches.opened.readAsOf,
    changes: { ...changes, deleteOne: deleteResource({ catalog, deletesMany: false }) },
  }
  const interactions = createInteractions({
    catalog,
    owned,
    reads: {
      read: read('read', common),
      vread: read('vread', common),
      history: history(common),
      search: search({ ...common, beside }),
    },
    changes: { ...changes, delete: deleteResource({ catalog, deletesMany }) },
    operations: createAddressOperations({
      ...common,
      operations,
      toOperationChange: createToOperationChange(common),
      readsOf: (seat) => createReads(() => sessionChanges, seat),
    }),
    performRead: createPerformRead(audit),
    performChange: createPerformChange(common),
  })
  const capabilities = createCapabilities({
    ...common,
    operations,
    described,
    standing,
    deletesMany,
    fullTextMode: opened.fullText.mode,
  })
  const transaction = createTransaction({ ...common, interactions, capabilities })
  return {
    view: {
      transaction: undefined,
      run,
      reads: withBeside(storage.store, beside),
      search: reads(page, beside),
      access: access.extractingBy(large.rows),
    },
    interactions,
    bundle: createBundle({
      large,
      batch: createBatch({ ...common, interactions, capabilities, random }),
      transaction,
    }),
    capabilities,
    catalog,
    xml: common.xml,
    getCurrent: storage.store.getCurrent,
    builtIn: { ...common, dryRun: createDryRun({ ...common, checkContent: checkUnvalidated }) },
    sessions: { ...sessionChanges, transaction },
  }
}
