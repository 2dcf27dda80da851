/** Several processes on one database: roles. Spec: [cluster], Cluster behavior. */
import { definePlugin, Type } from '../../kernel/index.ts'
import { checkRole } from './check-role.ts'
import { clusterKeys } from './config.ts'
import * as errors from './errors.ts'
import { Cluster } from './service.ts'

export default definePlugin({
  name: 'cluster',
  description: 'Gives each process on a shared database its role',
  // Other plugins declare the keys of [database] and [smart]; this one only reads them.
  config: { cluster: clusterKeys, database: Type.Object({}), smart: Type.Object({}) },
  provides: [Cluster],
  errors,
  setup({ config: { cluster, database, smart }, provide }) {
    checkRole({ cluster, database, smart })
    // Until a standby waits and a replica writes nothing, a server in such a role would be a second writer.
    if (cluster.role !== 'primary') throw errors.RoleNotBuilt(cluster.role)
    provide(Cluster, { role: cluster.role, primaryUrl: cluster.primary_url?.replace(/\/+$/, '') })
  },
})
