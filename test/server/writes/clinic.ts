/** A server over the definitions that tests of writes need, and short ways to ask it. */
import type { AnyPlugin } from '../../../kernel/index.ts'
import database from '../../../plugins/database/index.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { serverWith, type TestServer, type TestServerOptions } from '../../support/server-with.ts'
import { stubDefinitions } from '../../support/stub-definitions.ts'

export type Json = Record<string, any>

/** Resource types, and the data types in which they hold links. */
const DEFINITIONS = [
  'Patient',
  'Observation',
  'Organization',
  'Practitioner',
  'Encounter',
  'Binary',
  'Bundle',
  'Basic',
  'List',
  'Parameters',
  'Element',
  'Extension',
  'Reference',
  'Identifier',
  'HumanName',
  'Narrative',
  'Meta',
  'Coding',
  'CodeableConcept',
  'Quantity',
  'SearchParameter',
  'Attachment',
  'Annotation',
]

const PARAMETERS =
  /^(SearchParameter-(Patient|Observation|Organization|Basic|Resource|clinical|individual)-|CompartmentDefinition-patient)/

export interface Asking {
  readonly headers?: Record<string, string>
}

export interface Answered {
  readonly status: number
  readonly headers: Record<string, any>
  readonly text: string
  readonly json: Json
}

export interface Entry {
  readonly fullUrl?: string
  readonly resource?: Json
  readonly request: Json
}

export interface Clinic {
  readonly server: TestServer
  ask(method: string, url: string, body?: Json | string, asking?: Asking): Promise<Answered>
  bundle(type: 'batch' | 'transaction', entry: readonly Entry[], asking?: Asking): Promise<Answered>
  /** Creates it and gives its id. */
  create(resource: Json): Promise<string>
  /** Ids of all current resources of a type. */
  ids(type: string): Promise<readonly string[]>
  stop(): Promise<void>
}

export const post = (resource: Json, fullUrl?: string, request: Json = {}): Entry => ({
  ...(fullUrl === undefined ? {} : { fullUrl }),
  resource,
  request: { method: 'POST', url: resource.resourceType, ...request },
})
export const put = (resource: Json, fullUrl?: string, request: Json = {}): Entry => ({
  ...(fullUrl === undefined ? {} : { fullUrl }),
  resource,
  request: { method: 'PUT', url: `${resource.resourceType}/${resource.id}`, ...request },
})
export const get = (url: string, request: Json = {}): Entry => ({ request: { method: 'GET', url, ...request } })
export const del = (url: string, request: Json = {}): Entry => ({ request: { method: 'DELETE', url, ...request } })

export const clinicPlugins = (more: readonly AnyPlugin[] = []): readonly AnyPlugin[] => [
  database,
  stubDefinitions(DEFINITIONS, PARAMETERS),
  ...more,
  ...fhirPlugins,
]

export const clinicWith = async (
  settings: Record<string, unknown> = {},
  more: readonly AnyPlugin[] = [],
  options: Pick<TestServerOptions, 'clock'> = {},
): Promise<Clinic> => {
  const server = await serverWith({
    ...options,
    plugins: clinicPlugins(more),
    settings: { conformance: { update_as_create: true }, ...settings },
  })
  const ask: Clinic['ask'] = async (method, url, body, { headers = {} } = {}) => {
    const payload = body === undefined || typeof body === 'string' ? body : JSON.stringify(body)
    const answer = await server.inject({
      method: method as 'GET',
      url,
      headers: { ...(payload === undefined ? {} : { 'content-type': 'application/fhir+json' }), ...headers },
      ...(payload === undefined ? {} : { payload }),
    })
    return {
      status: answer.statusCode,
      headers: answer.headers,
      text: answer.body,
      get json() {
        return answer.json() as Json
      },
    }
  }
  return {
    server,
    ask,
    bundle: (type, entry, asking) => ask('POST', '/', { resourceType: 'Bundle', type, entry }, asking),
    async create(resource) {
      return (await ask('POST', `/${resource.resourceType}`, resource)).json.id as string
    },
    async ids(type) {
      const { entry = [] } = (await ask('GET', `/${type}?_count=1000`)).json
      return entry.map(({ resource }: Json) => resource.id)
    },
    stop: () => server.stop(),
  }
}
