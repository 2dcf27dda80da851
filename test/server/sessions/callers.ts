/** A clinic with a plugin that keeps what hooks are told, and sessions for whom a test names. */
import {
  type AnyPlugin,
  type AuditFact,
  definePlugin,
  type RequestContext,
  type Restriction,
} from '../../../kernel/index.ts'
import { Resources, type Session } from '../../../plugins/fhir/service.ts'
import limits from '../../../plugins/limits/index.ts'
import { named } from '../../support/named-callers.ts'
import { type Clinic, clinicWith } from '../writes/clinic.ts'

export interface Callers {
  readonly clinic: Clinic
  readonly resources: Resources
  /** What was told since it was last emptied: `kind type/id status`. */
  readonly facts: AuditFact[]
  /** Interactions that `authorize` was asked about. */
  readonly asked: string[]
  /** Of clients: what applies to them. */
  readonly restrictions: Map<string, Restriction>
  /** A request that was let in and answered. */
  requestOf(client: string): Promise<RequestContext>
  request(client: string): Promise<Session>
  stored(client: string, restrictions?: readonly Restriction[]): Session
  internal(): Session
  told(): readonly string[]
}

export const callersWith = async (
  settings: Record<string, unknown> = {},
  more: readonly AnyPlugin[] = [],
): Promise<Callers> => {
  const facts: AuditFact[] = []
  const asked: string[] = []
  const restrictions = new Map<string, Restriction>()
  let last: RequestContext | undefined
  const keeper = definePlugin({
    name: 'keeper',
    setup({ hooks }) {
      hooks.admit.tap('keep the request', (request) => {
        last = request
        return undefined
      })
      hooks.authorize.tap('restrict', ({ caller }, { kind, type }, ruling) => {
        asked.push(`${kind} ${type}`)
        const restriction = restrictions.get(caller.client ?? '')
        if (restriction !== undefined) ruling.restrict(restriction)
      })
      hooks.onAudit.tap('keep', (fact) => void facts.push(fact))
    },
  })
  const clinic = await clinicWith(settings, [named, limits, keeper, ...more])
  const resources = clinic.server.get(Resources)
  const requestOf = async (client: string): Promise<RequestContext> => {
    await clinic.ask('GET', '/metadata', undefined, { headers: { 'x-test-client': client } })
    facts.length = asked.length = 0
    return last as RequestContext
  }
  return {
    clinic,
    resources,
    facts,
    asked,
    restrictions,
    requestOf,
    request: async (client) => resources.as(await requestOf(client)),
    stored: (client, given = []) =>
      resources.as({
        kind: 'stored',
        caller: { kind: 'client', client },
        restrictions: given,
        purpose: 'export',
        baseUrl: 'https://fhir.example.org',
      }),
    internal: () => resources.as({ kind: 'internal', purpose: 'test' }),
    told: () => facts.map(({ interaction: { kind, type }, status }) => `${kind} ${type} ${status}`),
  }
}

export const all = async <T>(list: AsyncIterable<T>): Promise<readonly T[]> => {
  const found: T[] = []
  for await (const one of list) found.push(one)
  return found
}

/** Key and status of what it is refused with. */
export const refusedWith = async (work: () => Promise<unknown>): Promise<string> => {
  try {
    await work()
  } catch (error) {
    const { key, status, message } = error as { key?: string; status?: number; message: string }
    return key === undefined ? message : `${status} ${key}`
  }
  return 'nothing'
}
