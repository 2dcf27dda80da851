/** Several processes on one database: roles. Spec: [cluster], Cluster behavior. */
import { definePlugin, Type } from '../../kernel/index.ts'
import { ChangeFeed, Database } from '../database/service.ts'
import { Searches } from '../search/service.ts'
import { checkRole } from './check-role.ts'
import { clusterKeys } from './config.ts'
import * as errors from './errors.ts'
import { createFollow } from './follow/follow-primary.ts'
import { readServers } from './read-servers.ts'
import * as relayErrors from './relay/errors.ts'
import { setUpRelay } from './relay/set-up-relay.ts'
import { Cluster } from './service.ts'
import * as snapshotErrors from './snapshot/errors.ts'
import { createOwnCommits } from './snapshot/own-commits.ts'

const RESTART = 75 // exit code that asks a supervisor to start the process again

export default definePlugin({
  name: 'cluster',
  description: 'Gives each process on a shared database its role',
  // Other plugins declare the keys of [database] and [smart]; this one only reads them.
  config: { cluster: clusterKeys, database: Type.Object({}), smart: Type.Object({}) },
  needs: { store: Database, feed: ChangeFeed },
  provides: [Cluster],
  errors: { ...errors, ...relayErrors, ...snapshotErrors },
  commands: { cluster: async () => (await import('./commands/cluster.ts')).default },
  setup({ config: { cluster, database, smart }, needs: { store, feed }, provide, hooks, later, ...host }) {
    checkRole({ cluster, database, smart })
    const { clock, random, log, gate, fatal } = host
    const primaryUrl = cluster.primary_url?.replace(/\/+$/, '')
    const servers = async () => (store.kind === 'postgres' ? readServers(store) : undefined)
    provide(Cluster, { role: cluster.role, primaryUrl, servers })
    // No replica shares another kind of database.
    if (store.kind !== 'postgres') return
    const searches = later(Searches)
    const onOther = (): void => fatal(errors.DatabaseOther(), RESTART)
    const follow = store.isReader ? createFollow({ database: store, feed, clock, log, onOther }) : undefined
    const own = createOwnCommits(store)
    const relay = setUpRelay({
      ...{ hooks, clock, random },
      primaryUrl: follow && primaryUrl,
      keyFor: (purpose) => searches().opened.search.registry.keyFor(purpose),
      hasKeys: () => searches().isOpen,
      source: follow ?? own,
    })
    if (follow === undefined) return { start: own.start, stop: relay.stop }
    // The database reports it to the probes.
    gate(() => (feed.isFollowing ? undefined : errors.NotFollowing()))
    return {
      start: follow.start,
      stop: async () => void (await Promise.all([follow.stop(), relay.stop()])),
    }
  },
})
