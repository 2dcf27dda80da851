/** FHIR R4 Subscriptions: notifies others when resources are written. https://hl7.org/fhir/R4/subscription.html */
import { definePlugin } from '../../kernel/index.ts'
import { Database } from '../database/service.ts'
import { Fhir, Resources } from '../fhir/service.ts'
import { Limits } from '../limits/service.ts'
import { refusingCheck } from './check-subscription.ts'
import { subscriptionsSection } from './config.ts'
import { endAll } from './end-all.ts'
import * as errors from './errors.ts'
import { PURPOSE } from './own-request.ts'
import { RegisteredClients } from './service.ts'
import { setUpSubscriptions } from './set-up-subscriptions.ts'
import { subscriptionMigrations } from './tables.ts'
import { createWriteStatus } from './write-status.ts'

export default definePlugin({
  name: 'subscriptions',
  description: 'FHIR R4 Subscriptions: rest-hooks and WebSockets',
  config: { subscriptions: subscriptionsSection },
  needs: { database: Database, fhir: Fhir, resources: Resources },
  uses: [Limits, RegisteredClients],
  migrations: subscriptionMigrations,
  errors,
  setup(host) {
    const { config, needs, optional, hooks, routes, identify, request, serves, clock, log } = host
    const settings = config.subscriptions
    const { database, fhir, resources } = needs
    if (settings.rest_hook_hosts.length > 0 || settings.websocket)
      return setUpSubscriptions({
        ...{ settings, database, fhir, resources, hooks, routes, identify, request, serves, clock, log },
        limits: optional(Limits),
        clients: optional(RegisteredClients),
      })
    fhir.check(refusingCheck)
    const server = resources.as({ kind: 'internal', purpose: PURPOSE })
    return {
      async start() {
        if (database.isReader || !serves) return
        const ended = await endAll(database, createWriteStatus(server))
        if (ended > 0) log.warn({ ended }, 'Subscriptions are turned off: those that ran have the status error now')
      },
    }
  },
})
