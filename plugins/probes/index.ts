/** Probes for liveness and readiness. Spec: Endpoints, States and transitions. */
import { definePlugin } from '../../kernel/index.ts'
import { Cluster } from '../cluster/service.ts'
import { Database } from '../database/service.ts'
import * as errors from './errors.ts'
import { probeRoutes } from './routes.ts'

export default definePlugin({
  name: 'probes',
  description: 'Answers /livez, /readyz and /healthz',
  uses: [Database, Cluster],
  errors,
  setup({ routes, state, optional, identify }) {
    const database = optional(Database)
    const counters = () => {
      try {
        return database?.status()
      } catch {
        // The database is not open yet: the probe shows that by its status and must not fail.
        return undefined
      }
    }
    const configured = optional(Cluster)?.role ?? 'primary'
    // A standby opens the database once it has the writer lease, and is the primary from then on.
    const role = (): string => (configured === 'standby' && counters() !== undefined ? 'primary' : configured)
    routes(probeRoutes({ state, role, counters, identify }), { bare: true })
  },
})
