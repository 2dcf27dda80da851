/** Several processes on one database: roles. Spec: [cluster], Cluster behavior. */
import { definePlugin, Type } from '../../kernel/index.ts'
import { Searches } from '../search/service.ts'
import { checkRole } from './check-role.ts'
import { clusterKeys } from './config.ts'
import * as errors from './errors.ts'
import * as relayErrors from './relay/errors.ts'
import { setUpRelay } from './relay/set-up-relay.ts'
import { Cluster } from './service.ts'
import * as snapshotErrors from './snapshot/errors.ts'

export default definePlugin({
  name: 'cluster',
  description: 'Gives each process on a shared database its role',
  // Other plugins declare the keys of [database] and [smart]; this one only reads them.
  config: { cluster: clusterKeys, database: Type.Object({}), smart: Type.Object({}) },
  provides: [Cluster],
  errors: { ...errors, ...relayErrors, ...snapshotErrors },
  commands: { cluster: async () => (await import('./commands/cluster.ts')).default },
  setup({ config: { cluster, database, smart }, provide, hooks, later, clock, random }) {
    checkRole({ cluster, database, smart })
    const isReplica = cluster.role === 'replica'
    // Until a replica starts without the writer lease, it would wait for the lease and then write.
    if (isReplica) throw errors.RoleNotBuilt(cluster.role)
    const primaryUrl = cluster.primary_url?.replace(/\/+$/, '')
    provide(Cluster, { role: cluster.role, primaryUrl })
    // No replica shares another kind of database.
    if ((database as { kind?: unknown }).kind !== 'postgres') return
    const searches = later(Searches)
    return setUpRelay({
      ...{ hooks, clock, random },
      primaryUrl: isReplica ? primaryUrl : undefined,
      keyFor: (purpose) => searches().opened.search.registry.keyFor(purpose),
      source: undefined,
    })
  },
})
