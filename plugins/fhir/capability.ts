/** GET /metadata: what this server does, built from what is registered. https://hl7.org/fhir/R4/capabilitystatement.html */
import { BUILD, type RequestContext } from '../../kernel/index.ts'
import type { FhirServer } from './server.ts'

/** What plugins add to the statement: operations, security, further formats. */
export interface CapabilityPart {
  readonly security?: object
  readonly operations?: readonly { readonly name: string; readonly definition: string; readonly type?: string }[]
}

const INTERACTIONS = ['read', 'vread', 'update', 'delete', 'history-instance', 'history-type', 'create']

export const toCapabilityStatement = (
  server: FhirServer,
  request: RequestContext,
  options: { readonly updateAsCreate: boolean; readonly parts: readonly CapabilityPart[] },
): object => {
  const { catalog, clock } = server
  const parameters = new Map<string, object[]>()
  for (const { code, url, type, base, documentation } of catalog.searchParameters)
    for (const one of base) {
      const list = parameters.get(one) ?? []
      list.push({ name: code, definition: url, type, ...(documentation === '' ? {} : { documentation }) })
      parameters.set(one, list)
    }
  const common = [...(parameters.get('Resource') ?? []), ...(parameters.get('DomainResource') ?? [])]
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
          searchParam: [...common, ...(parameters.get(name) ?? [])],
          ...list(
            'operation',
            operations.filter(({ type }) => type === name),
          ),
        })),
        interaction: [{ code: 'history-system' }],
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
