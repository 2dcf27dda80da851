/** A server with the trail, and what it says happened. */
import {
  type AnyPlugin,
  type Caller,
  type Clock,
  defineError,
  definePlugin,
  systemClock,
} from '../../../kernel/index.ts'
import audit from '../../../plugins/audit/index.ts'
import { type Verdict, verifyTrail } from '../../../plugins/audit/verify/walk.ts'
import database from '../../../plugins/database/index.ts'
import { Database } from '../../../plugins/database/service.ts'
import probes from '../../../plugins/probes/index.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { serverWith, type TestServer, type TestServerOptions } from '../../support/server-with.ts'
import { stubDefinitions } from '../../support/stub-definitions.ts'

export const KEY = 'a key of the chain for tests'

export interface AuditEvent {
  readonly id: string
  readonly type: { readonly code: string }
  readonly subtype: readonly { readonly code: string }[]
  readonly action: string
  readonly outcome: string
  readonly recorded: string
  readonly agent: readonly {
    readonly type: { readonly coding: readonly { readonly code: string }[] }
    readonly who?: {
      readonly display?: string
      readonly reference?: string
      readonly identifier?: { readonly value: string }
    }
    readonly requestor: boolean
    readonly network?: { readonly address: string }
    readonly policy?: readonly string[]
  }[]
  readonly entity?: readonly {
    readonly what?: {
      readonly reference?: string
      readonly identifier?: { readonly value: string }
      readonly display?: string
    }
    readonly type?: { readonly code: string }
    readonly role?: { readonly code: string }
    readonly query?: string
    readonly detail?: readonly { readonly type: string; readonly valueString: string }[]
  }[]
  readonly contained?: readonly { readonly issue: readonly { readonly code: string }[] }[]
}

const TYPES = [
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
  'AuditEvent',
  'Element',
  'Extension',
  'Reference',
  'Identifier',
  'HumanName',
  'Meta',
  'CodeableConcept',
]
const OTHERS = /^(SearchParameter-(Patient|Observation|Resource|clinical|individual)-|CompartmentDefinition-patient)/i

const TooMany = defineError('gate/too-many', 429, 'throttled', 'Too many requests.')
const Unknown = defineError('gate/unknown', 401, 'login', 'The token is not valid.')
const Forbidden = defineError('gate/forbidden', 403, 'forbidden', 'No scope allows that.')

/** Callers by header, and the refusals that other plugins make. */
const gate = definePlugin({
  name: 'gate',
  setup({ hooks }) {
    hooks.authenticate.tap('callers by header', ({ headers }) => {
      if (headers.authorization === 'Bearer bad') throw Unknown()
      const caller = headers['x-caller']
      return typeof caller === 'string' ? (JSON.parse(caller) as Caller) : undefined
    })
    hooks.admit.tap('refuse by header', ({ headers }) => (headers['x-too-many'] === undefined ? undefined : TooMany()))
    hooks.authorize.tap('refuse by header', ({ headers }, { kind }) => {
      if (headers['x-forbid'] === kind) throw Forbidden()
    })
  },
})

export const plain: readonly AnyPlugin[] = [database, stubDefinitions(TYPES, OTHERS), ...fhirPlugins, probes]
export const auditedPlugins: readonly AnyPlugin[] = [...plain, audit, gate]

/** No two moments are the same, so that what happened can be put in order. */
const tickingClock = (): Clock => {
  let now = Date.now()
  return {
    ...systemClock,
    now() {
      now += 1
      return now
    },
  }
}

export const audited = (options: TestServerOptions = {}): Promise<TestServer> =>
  serverWith({
    plugins: auditedPlugins,
    clock: tickingClock(),
    ...options,
    settings: { ...options.settings, audit: { key: KEY, ...(options.settings?.audit as object | undefined) } },
  })

/** In the order they were recorded, without those of looking at the trail. */
export const eventsOf = async (server: TestServer, query = ''): Promise<readonly AuditEvent[]> => {
  const answer = await server.inject(`/_audit?_format=ndjson${query === '' ? '' : `&${query}`}`)
  if (answer.statusCode !== 200) throw new Error(answer.body)
  return answer.body
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as AuditEvent)
    .reverse()
    .filter((event) => !event.subtype.some(({ code }) => code.startsWith('_audit')))
}

const dataOf = ({ entity = [] }: AuditEvent): string =>
  entity.find(({ role }) => role?.code === '4')?.what?.reference ?? ''
export const patientOf = ({ entity = [] }: AuditEvent): string =>
  entity.find(({ role }) => role?.code === '1')?.what?.reference ?? ''

/** `create Patient/1/_history/1 of Patient/1 → 0`, without what is not there. */
export const lineOf = (event: AuditEvent): string => {
  const patient = patientOf(event)
  const data = dataOf(event)
  const subtype = event.subtype.at(-1)?.code ?? ''
  return `${subtype}${data === '' ? '' : ` ${data}`}${patient === '' ? '' : ` of ${patient}`} → ${event.outcome}`
}

/** What happened since the server started, in the order it began: what waits for nobody is recorded later. */
export const happened = async (server: TestServer): Promise<readonly string[]> =>
  (await eventsOf(server))
    .filter(({ type }) => type.code !== '110100')
    .sort((one, other) => one.recorded.localeCompare(other.recorded))
    .map(lineOf)

export const verdictOf = async (server: TestServer, query = ''): Promise<Verdict> => {
  const answer = await server.inject(`/_audit/verify${query}`)
  if (answer.statusCode !== 200) throw new Error(answer.body)
  return answer.json() as Verdict
}

/** Verifies without a request: the route starts a thread for it where the database is not in memory. */
export const verifiedHere = async (server: TestServer): Promise<Verdict> => {
  await server.inject('/_audit?_id=1') // which writes what waits
  return verifyTrail(server.get(Database), { key: KEY, previousKeys: [] })
}

export const send = (server: TestServer, method: string, url: string, resource?: object) =>
  server.inject({
    method: method as 'POST',
    url,
    headers: { 'content-type': 'application/fhir+json' },
    ...(resource && { payload: JSON.stringify(resource) }),
  })

export const create = async (server: TestServer, resource: object): Promise<string> => {
  const { resourceType } = resource as { resourceType: string }
  const answer = await send(server, 'POST', `/${resourceType}`, resource)
  if (answer.statusCode !== 201) throw new Error(answer.body)
  return (answer.json() as { id: string }).id
}
