/** GET /metadata: what this server does, built from what is registered. https://hl7.org/fhir/R4/capabilitystatement.html */
import { BUILD, type RequestContext } from '../../kernel/index.ts'
import type { FhirServer } from './server.ts'

/** What plugins add to the statement: operations, security, further formats. */
export interface CapabilityPart {
  readonly security?: object
  readonly operations?: readonly { readonly name: string; readonly definition: string; readonly type?: string }[]
}

/** What the registry that runs the searches knows of a type. */
const searchOf = ({ search: { registry }, catalog }: FhirServer, name: string): object => {
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
    searchRevInclude: pointing,
    searchParam: [
      ...COMMON,
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
]

const INTERACTIONS = ['read', 'vread', 'update', 'delete', 'history-instance', 'history-type', 'create', 'search-type']

export const toCapabilityStatement = (
  server: FhirServer,
  request: RequestContext,
  options: { readonly updateAsCreate: boolean; readonly parts: readonly CapabilityPart[] },
): object => {
  const { catalog, clock } = server
  const operations = options.parts.flatMap((part) => part.operations ?? [])
  const security = options.parts.map((part) => part.security).find((one) => one !== undefined)
  return {
    resourceType: 'CapabilityStatement',
    status: 'active',
    date: new Date(clock.now()).toISOString(),
    kind: 'instance',
    software: { name: 'refhir', version: BUILD },
    implementation: { description: 'refhir FHIR server', url: request.baseUrl },
    fhirVersion: catalog.fhirVersion,
    format: ['application/fhir+json', 'json'],
    rest: [
      {
        mode: 'server',
        ...(security === undefined ? {} : { security }),
        resource: [...catalog.types.values()].map(({ name, profile }) => ({
          type: name,
          profile,
          interaction: INTERACTIONS.map((code) => ({ code })),
          versioning: 'versioned-update',
          readHistory: true,
          updateCreate: options.updateAsCreate,
          conditionalRead: 'full-support',
          ...searchOf(server, name),
          ...list(
            'operation',
            operations.filter(({ type }) => type === name),
          ),
        })),
        interaction: [{ code: 'history-system' }, { code: 'search-system' }],
        ...list(
          'operation',
          operations.filter(({ type }) => type === undefined),
        ),
      },
    ],
  }
}

const list = (key: string, operations: readonly { readonly name: string; readonly definition: string }[]): object =>
  operations.length === 0 ? {} : { [key]: operations.map(({ name, definition }) => ({ name, definition })) }
