/** The audit trail: who did what to which resource, in a chain that shows tampering. Spec: [audit], Events. */
import { definePlugin } from '../../kernel/index.ts'
import { Database } from '../database/service.ts'
import { Fhir } from '../fhir/service.ts'
import { createKeyRing } from './chain/key.ts'
import { auditSection } from './config.ts'
import * as errors from './errors.ts'
import { createPlace } from './inbox/event-place.ts'
import { createIntake } from './intake/intake.ts'
import { createEventQueue } from './intake/queue.ts'
import { createAnonymousRefusalThrottle } from './intake/refusal-throttle.ts'
import { auditRoutes } from './routes.ts'
import { createAuditSearch } from './search/find.ts'
import { createTrailSearch } from './search/trail-search.ts'
import { Trail } from './service.ts'
import { auditMigrations } from './tables.ts'
import { createVerifier } from './verify/verifier.ts'

const READ_AT =
  'GET /_audit and GET /AuditEvent search the trail, GET /AuditEvent/[number] reads an event, none of them in a Bundle'

export default definePlugin({
  name: 'audit',
  description: 'Records who did what to which resource, in a chain that shows tampering',
  config: { audit: auditSection },
  needs: { database: Database },
  uses: [Fhir],
  provides: [Trail],
  migrations: auditMigrations,
  errors,
  commands: { audit: async () => (await import('./commands/audit.ts')).default },
  enabled: ({ audit }) => audit.enabled,
  setup({ config: { audit }, needs: { database }, optional, provide, hooks, run, routes, busy, clock, random, log }) {
    const keys = createKeyRing(audit.key, audit.previous_keys)
    const trail = createPlace({ database, keys, busy, clock, random, log })
    const queue = createEventQueue({ trail: trail.writer, clock, log })
    const sampler = createAnonymousRefusalThrottle(audit.unattributed_per_second)
    const { reads, include_query: includeQuery, retention_days: retentionDays } = audit
    const intake = createIntake({ trail: trail.writer, queue, sampler, reads, includeQuery, clock })
    const { flush: write, queueCounts } = intake
    const keeper = trail.keptBy({ queue, flush: write, queueCounts, retentionDays })
    hooks.onAudit.tap('append to the trail', intake.record)
    hooks.meter.tap('append refusals without an event', intake.used)
    optional(Fhir)?.ownsType('AuditEvent', 'is made by the server, of what happens', READ_AT)
    const verify = createVerifier(database, { key: audit.key, previousKeys: audit.previous_keys })
    const flush = async (): Promise<void> => {
      await write()
      await trail.gather()
    }
    const finder = createAuditSearch(database, clock)
    provide(Trail, { flush, search: createTrailSearch(finder, flush) })
    routes(auditRoutes({ run, flush, finder, chain: keeper.chain, verify }))
    // The kernel stops plugins that began to prepare. Before the start, which may wait for days, requests are refused, and
    // their events must not be lost at a stop.
    return { prepare: async () => undefined, start: keeper.start, stop: keeper.stop }
  },
})
