/**
 * GET /metadata: the capability statement, built from the registered types, search parameters and operations.
 * https://hl7.org/fhir/R4/capabilitystatement.html
 */

import {
  BUILD,
  type Clock,
  extentOf,
  type Interaction,
  type RequestContext,
  type Restriction,
} from '../../kernel/index.ts'
import type { ResourceType, TypeCatalog } from '../model/service.ts'
import type { FullTextMode, Registry } from '../search/service.ts'
import type { CapabilityPart } from './capability-part.ts'
import { RIGHTS } from './dispatch.ts'
import type { ServerOwnedTypes } from './interactions/owned-types.ts'
import type { BuiltInInvocation, BuiltInOperation } from './operations/built-in.ts'
import type { Operations } from './operations/registry.ts'
import { ACCEPT_PATCH } from './patch/patch.ts'

export interface CapabilityStatementParts {
  readonly catalog: TypeCatalog
  readonly clock: Clock
  readonly operations: Pick<Operations<BuiltInInvocation>, 'at'>
  readonly owned: Pick<ServerOwnedTypes, 'has' | 'readElsewhere'>
  readonly registry: Pick<Registry, 'parameters'>
  readonly fullTextMode: FullTextMode
  readonly deletesMany: boolean
  readonly updateAsCreate: boolean
  /** Parts that other plugins have added. */
  readonly described: readonly CapabilityPart[]
  /** Restrictions of all callers. */
  readonly standing: readonly Restriction[]
}

type Listed = Interaction['kind']

/** What callers can do with a type: what the server has for it, without what is closed to all of them. */
const interactionsOf = ({ owned, standing }: CapabilityStatementParts, type: string): ReadonlySet<Listed> => {
  const all = owned.readElsewhere.has(type) ? READ_ELSEWHERE : owned.has(type) ? READING : INTERACTIONS
  const isOpen = (kind: Listed): boolean =>
    (RIGHTS[kind] ?? []).every((right) => standing.every((one) => extentOf(one, type, right) !== 'none'))
  return new Set(all.filter(isOpen))
}

/** True for a type that nobody can read or find. */
const isUnseen = (parts: CapabilityStatementParts, type: string): boolean => {
  const open = interactionsOf(parts, type)
  return !open.has('read') && !open.has('search-type')
}

/** The search members of a type, from the registry that performs the searches. */
const searchOf = (parts: CapabilityStatementParts, name: string): object => {
  const { registry, fullTextMode, catalog } = parts
  if (!interactionsOf(parts, name).has('search-type')) return {}
  const parameters = [...registry.parameters(name).values()]
  const references = (type: string) =>
    [...registry.parameters(type).values()].filter(({ type: kind }) => kind === 'reference')
  const found = [...catalog.types.keys()].filter((type) => !isUnseen(parts, type))
  const pointing = found.flatMap((type) =>
    references(type)
      .filter(({ targets }) => targets.includes(name))
      .map(({ code }) => `${type}:${code}`),
  )
  return {
    searchInclude: ['*', ...references(name).map(({ code }) => `${name}:${code}`)],
    ...(pointing.length > 0 && { searchRevInclude: pointing }),
    searchParam: [
      ...COMMON,
      ...WORDS[fullTextMode],
      ...parameters.map(({ code, url, type, indexing }) => ({
        name: code,
        definition: url,
        type,
        ...(indexing === undefined ? {} : { documentation: 'Being indexed; refused until that is done.' }),
      })),
    ],
  }
}

const COMMON = [
  { name: '_id', definition: 'http://hl7.org/fhir/SearchParameter/Resource-id', type: 'token' },
  { name: '_lastUpdated', definition: 'http://hl7.org/fhir/SearchParameter/Resource-lastUpdated', type: 'date' },
  { name: '_has', type: 'special' },
  { name: '_list', type: 'special' },
  { name: '_filter', type: 'special' },
]
const TEXT = { name: '_text', definition: 'http://hl7.org/fhir/SearchParameter/DomainResource-text', type: 'string' }
const CONTENT = { name: '_content', definition: 'http://hl7.org/fhir/SearchParameter/Resource-content', type: 'string' }
/** Search parameters by the value of the setting `full_text`. */
const WORDS = { all: [TEXT, CONTENT], narrative: [TEXT], none: [] } as const

const INTERACTIONS: readonly Listed[] = [
  'read',
  'vread',
  'update',
  'patch',
  'delete',
  'history-instance',
  'history-type',
  'create',
  'search-type',
]

const RAW_CONTENT =
  'Create and update take content of any media type as it is, with its reference in X-Security-Context; read and vread give it back unless FHIR is asked for.'

/** Interactions of a type that only the server writes. */
const READING: readonly Listed[] = ['read', 'vread', 'history-instance', 'history-type', 'search-type']
/** Interactions of a type that is not stored as resources, but read at another address. */
const READ_ELSEWHERE: readonly Listed[] = ['read', 'search-type']

/** FHIR allows no empty arrays, so an empty one is left out. */
const nonEmpty = (name: string, items: readonly object[]): object => (items.length === 0 ? {} : { [name]: items })

/** One entry of `rest.resource`. */
const resourceOf = (
  parts: CapabilityStatementParts,
  { name, profile, profiles }: ResourceType,
  referencePolicy: readonly string[],
): object => {
  const { operations, owned, updateAsCreate, deletesMany } = parts
  const open = interactionsOf(parts, name)
  // A condition is a search, whatever it is for.
  const isConditional = !owned.has(name) && open.has('search-type')
  return {
    type: name,
    profile,
    ...(profiles.length > 0 && { supportedProfile: profiles }),
    ...(name === 'Binary' && { documentation: RAW_CONTENT }),
    interaction: [...open].map((code) => ({ code })),
    // Not versioned-update: a client may update without If-Match.
    versioning: 'versioned',
    readHistory: open.has('vread') && !owned.readElsewhere.has(name),
    updateCreate: updateAsCreate && !owned.has(name),
    conditionalCreate: isConditional,
    conditionalRead: open.has('read') ? 'full-support' : 'not-supported',
    conditionalUpdate: isConditional,
    conditionalDelete: !isConditional ? 'not-supported' : deletesMany ? 'multiple' : 'single',
    ...(referencePolicy.length === 0 ? {} : { referencePolicy }),
    ...searchOf(parts, name),
    ...list([
      ...operations.at({ level: 'type', type: name }),
      ...(isUnseen(parts, name) ? [] : operations.at({ level: 'instance', type: name })),
    ]),
  }
}

export const toCapabilityStatement = (
  parts: CapabilityStatementParts,
  request: RequestContext,
  /** Lists only normative types. */
  onlyNormative: boolean,
): object => {
  const { catalog, clock, operations, described } = parts
  const declared = described.map((part) => part.security).find((one) => one !== undefined)
  const security = typeof declared === 'function' ? declared(request) : declared
  const isShown = ({ isNormative }: ResourceType): boolean => isNormative || !onlyNormative
  const referencePolicy = described.flatMap((part) => part.referencePolicy ?? [])
  return {
    resourceType: 'CapabilityStatement',
    status: 'active',
    date: new Date(clock.now()).toISOString(),
    kind: 'instance',
    software: { name: 'refhir', version: BUILD },
    implementation: { description: 'refhir FHIR server', url: request.baseUrl },
    fhirVersion: catalog.fhirVersion,
    format: ['application/fhir+json', 'json', 'application/fhir+xml', 'xml'],
    patchFormat: ACCEPT_PATCH.split(', '),
    rest: [
      {
        mode: 'server',
        ...(security === undefined ? {} : { security }),
        ...nonEmpty(
          'resource',
          [...catalog.types.values()].filter(isShown).map((type) => resourceOf(parts, type, referencePolicy)),
        ),
        interaction: [
          { code: 'transaction' },
          { code: 'batch' },
          { code: 'history-system' },
          { code: 'search-system' },
        ],
        ...list(operations.at({ level: 'system', type: undefined })),
      },
    ],
  }
}

const list = (all: readonly BuiltInOperation[]): object => {
  const operations = all.filter(({ isListed = true }) => isListed)
  return operations.length === 0
    ? {}
    : {
        operation: [...new Set(operations)].map(({ code, definition, documentation }) => ({
          name: code,
          definition,
          documentation,
        })),
      }
}
