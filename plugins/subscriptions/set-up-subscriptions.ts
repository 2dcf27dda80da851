/** Adds the checks, the queue, the notifications and the addresses of Subscriptions, where a channel is configured. */
import type { FastifyPluginCallback } from 'fastify'
import type { Clock, Hooks, Host, Lifecycle, Logger } from '../../kernel/index.ts'
import type { Database } from '../database/service.ts'
import type { Fhir, Resources } from '../fhir/service.ts'
import type { Limits } from '../limits/service.ts'
import { createAllowedHosts } from './allowed-hosts.ts'
import { createBoundSockets } from './bound-sockets.ts'
import { createChangeIntake } from './change-intake.ts'
import { createFoundRulings, createSubscriptionCheck } from './check-subscription.ts'
import { createNumberEvents } from './number-events.ts'
import { PURPOSE } from './own-request.ts'
import { createOwnerSession } from './owner-session.ts'
import { createSendNotification } from './send-notification.ts'
import { createSenders } from './senders.ts'
import type { RegisteredClients } from './service.ts'
import { statusOperation } from './status-operation.ts'
import { webSocketRoute } from './web-socket-route.ts'
import { createWriteStatus } from './write-status.ts'

export interface SubscriptionsParts {
  readonly settings: {
    readonly rest_hook_hosts: readonly string[]
    readonly rest_hook_http: boolean
    readonly websocket: boolean
    readonly retry_minutes: number
  }
  readonly database: Database
  readonly fhir: Fhir
  readonly resources: Resources
  readonly limits: Limits | undefined
  /** Undefined where clients are not registered. */
  readonly clients: RegisteredClients | undefined
  readonly hooks: Pick<Hooks, 'onWrite'>
  readonly routes: (plugin: FastifyPluginCallback) => void
  readonly identify: Host['identify']
  readonly request: Host['request']
  readonly serves: boolean
  readonly clock: Clock
  readonly log: Logger
}

export const setUpSubscriptions = (parts: SubscriptionsParts): Lifecycle => {
  const { settings, database, fhir, resources, limits, clients, hooks, routes, identify, request, serves } = parts
  const { clock, log } = parts
  const { rest_hook_hosts: listed, rest_hook_http: allowsHttp, websocket: hasWebSocket } = settings
  const hosts = listed.length === 0 ? undefined : createAllowedHosts(listed, allowsHttp)
  const rules = { hosts, hasWebSocket }
  const rulings = createFoundRulings()
  const server = resources.as({ kind: 'internal', purpose: PURPOSE })
  const writeStatus = createWriteStatus(server)
  const ownerSession = createOwnerSession(
    resources,
    () => request({ caller: { kind: 'internal' }, purpose: PURPOSE }).baseUrl,
  )
  const sockets = createBoundSockets()
  const send = createSendNotification(hosts ?? createAllowedHosts([], false), clock)
  const senders = createSenders({
    ...{ database, server, ownerSession, clients, rules, send, writeStatus, clock, log },
    retryMs: settings.retry_minutes * 60_000,
  })
  const events = createNumberEvents({
    ...{ database, server, ownerSession, writeStatus, clock, log },
    onEvents: senders.wake,
    ping: sockets.ping,
  })
  const { isReadElsewhere } = fhir
  fhir.check(createSubscriptionCheck({ database, resources, isReadElsewhere, rules, rulings, clock }))
  fhir.operation(statusOperation(database))
  hooks.onWrite.tap(
    'subscriptions',
    createChangeIntake({ rules, rulings, onChanges: events.wake, onStates: senders.changed }),
  )
  const { isReader } = database
  if (hasWebSocket) routes(webSocketRoute({ sockets, resources, limits, identify, isReader, clock, log }))
  let isRunning = false
  return {
    async start() {
      if (isReader || !serves) return
      isRunning = true
      events.start()
      senders.start()
    },
    async stop() {
      if (!isRunning) return
      await events.stop()
      await senders.stop()
    },
  }
}
