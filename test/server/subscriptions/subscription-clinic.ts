/** A server with Subscriptions, and short ways to ask it. */
import type { AnyPlugin } from '../../../kernel/index.ts'
import database from '../../../plugins/database/index.ts'
import subscriptions from '../../../plugins/subscriptions/index.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { createManualClock, type ManualClock } from '../../support/manual-clock.ts'
import { scopedCallers, type TestToken, tokenHeaders } from '../../support/scoped-callers.ts'
import { serverWith, type TestServer, type TestServerOptions } from '../../support/server-with.ts'
import { subscriptionDefinitions } from '../../support/subscription-definitions.ts'
import { until } from '../../support/until.ts'

export type Json = Record<string, any>

export interface Answered {
  readonly status: number
  readonly text: string
  readonly json: Json
}

export interface SubscriptionClinic {
  readonly server: TestServer
  readonly clock: ManualClock
  ask(method: string, url: string, body?: Json, token?: TestToken): Promise<Answered>
  /** Puts it, and throws what the server says against it. */
  put(resource: Json, token?: TestToken): Promise<Json>
  /** Puts a Subscription with the status requested, and waits for another status. */
  subscribe(id: string, criteria: string, channel: Json, token?: TestToken): Promise<Json>
  /** Lets time pass until it is true. */
  pass(isTrue: () => boolean | Promise<boolean>, what: string, stepMs?: number): Promise<void>
  /** The Subscription once it has this status. */
  whenStatus(id: string, status: string, stepMs?: number): Promise<Json>
  stop(): Promise<void>
}

const ALL: TestToken = { scope: 'system/*.cruds' }

export const subscription = (id: string, criteria: string, channel: Json, more: Json = {}): Json => ({
  resourceType: 'Subscription',
  id,
  status: 'requested',
  reason: 'a test',
  criteria,
  channel,
  ...more,
})
export const patient = (id: string, more: Json = {}): Json => ({ resourceType: 'Patient', id, ...more })
export const observation = (id: string, of: string, more: Json = {}): Json => ({
  resourceType: 'Observation',
  id,
  status: 'final',
  code: { text: 'x' },
  subject: { reference: `Patient/${of}` },
  ...more,
})

export const subscriptionPlugins: readonly AnyPlugin[] = [
  database,
  subscriptionDefinitions,
  scopedCallers,
  ...fhirPlugins,
  subscriptions,
]

export const subscriptionClinic = async (
  settings: Json = {},
  more: readonly AnyPlugin[] = [],
  options: Partial<TestServerOptions> = {},
): Promise<SubscriptionClinic> => {
  const clock = createManualClock()
  const server = await serverWith({
    ...options,
    clock,
    plugins: [...more, ...subscriptionPlugins],
    settings: { server: { bind: '127.0.0.1:0' }, conformance: { update_as_create: true }, ...settings },
  })
  const ask: SubscriptionClinic['ask'] = async (method, url, body, token = ALL) => {
    const answer = await server.inject({
      method: method as 'GET',
      url,
      headers: { ...(body && { 'content-type': 'application/fhir+json' }), ...tokenHeaders(token) },
      ...(body && { payload: JSON.stringify(body) }),
    })
    return {
      status: answer.statusCode,
      text: answer.body,
      get json() {
        return answer.json() as Json
      },
    }
  }
  const put: SubscriptionClinic['put'] = async (resource, token) => {
    const { status, text, json } = await ask('PUT', `/${resource.resourceType}/${resource.id}`, resource, token)
    if (status >= 300) throw new Error(`${status} ${text}`)
    return json
  }
  const pass: SubscriptionClinic['pass'] = async (isTrue, what, stepMs = 500) => {
    await until(
      async () => {
        if (await isTrue()) return true
        await clock.advance(stepMs)
        return isTrue()
      },
      20_000,
      what,
    )
  }
  const whenStatus: SubscriptionClinic['whenStatus'] = async (id, status, stepMs) => {
    let found: Json = {}
    const isThere = async (): Promise<boolean> => {
      found = (await ask('GET', `/Subscription/${id}`)).json
      return found.status === status
    }
    await pass(isThere, `Subscription/${id} to be ${status}, not ${JSON.stringify(found)}`, stepMs)
    return found
  }
  return {
    ...{ server, clock, ask, put, pass, whenStatus },
    async subscribe(id, criteria, channel, token) {
      await put(subscription(id, criteria, channel), token)
      return whenStatus(id, 'active')
    },
    stop: () => server.stop(),
  }
}
