/**
 * GET /metadata: the capability statement, built from the registered types, search parameters and operations.
 * https://hl7.org/fhir/R4/capabilitystatement.html
 */

import { BUILD, type Clock, type RequestContext } from '../../kernel/index.ts'
import type { ResourceType, TypeCatalog } from '../model/service.ts'
import type { FullTextMode, Registry } from '../search/service.ts'
import type { CapabilityPart } from './capability-part.ts'
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
}

const interactionsOf = (owned: CapabilityStatementParts['owned'], type: string): readonly string[] =>
  owned.readElsewhere.has(type) ? READ_ELSEWHERE : owned.has(type) ? READING : INTERACTIONS

/** The search members of a type, from the registry that performs the searches. */
const searchOf = ({ registry, fullTextMode, catalog }: CapabilityStatementParts, name: string): object => {
  const parameters = [...registry.parameters(name).values()]
  const references = (type: string) =>
    [...registry.parameters(type).values()].filter(({ type: kind }) => kind === 'reference')
  const pointing = [...catalog.types.keys()].flatMap((type) =>
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

const INTERACTIONS = [
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
const READING = ['read', 'vread', 'history-instance', 'history-type', 'search-type']
/** Interactions of a type that is not stored as resources, but read at another address. */
const READ_ELSEWHERE = ['read', 'search-type']

/** FHIR allows no empty arrays, so an empty one is left out. */
const nonEmpty = (name: string, items: readonly object[]): object => (items.length === 0 ? {} : { [name]: items })

export const toCapabilityStatement = (
  parts: CapabilityStatementParts,
  request: RequestContext,
  /** Lists only normative types. */
  onlyNormative: boolean,
): object => {
  const { catalog, clock, operations, owned, described, updateAsCreate, deletesMany } = parts
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
    format: ['application/fhir+json', 'json'],
    patchFormat: ACCEPT_PATCH.split(', '),
    rest: [
      {
        mode: 'server',
        ...(security === undefined ? {} : { security }),
        ...nonEmpty(
          'resource',
          [...catalog.types.values()].filter(isShown).map(({ name, profile, profiles }) => ({
            type: name,
            profile,
            ...(profiles.length > 0 && { supportedProfile: profiles }),
            ...(name === 'Binary' && { documentation: RAW_CONTENT }),
            interaction: interactionsOf(owned, name).map((code) => ({ code })),
            // Not versioned-update: a client may update without If-Match.
            versioning: 'versioned',
            readHistory: !owned.readElsewhere.has(name),
            updateCreate: updateAsCreate && !owned.has(name),
            conditionalCreate: !owned.has(name),
            conditionalRead: 'full-support',
            conditionalUpdate: !owned.has(name),
            conditionalDelete: owned.has(name) ? 'not-supported' : deletesMany ? 'multiple' : 'single',
            ...(referencePolicy.length === 0 ? {} : { referencePolicy }),
            ...searchOf(parts, name),
            ...list([
              ...operations.at({ level: 'type', type: name }),
              ...operations.at({ level: 'instance', type: name }),
            ]),
          })),
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

const list = (operations: readonly BuiltInOperation[]): object =>
  operations.length === 0
    ? {}
    : {
        operation: [...new Set(operations)].map(({ code, definition, documentation }) => ({
          name: code,
          definition,
          documentation,
        })),
      }
