/** What other plugins may know of the cluster: the role of this process, and the servers it shares the database with. */
import { defineService } from '../../kernel/index.ts'
import type { Servers } from './read-servers.ts'

export type { ServerLine, Servers } from './read-servers.ts'

export interface Cluster {
  readonly role: 'primary' | 'standby' | 'replica'
  /** Without a slash at its end; undefined where it is not set, which a replica never has. */
  readonly primaryUrl: string | undefined
  /** While the server runs: who shares the database. Undefined where its kind has one server. */
  servers(): Promise<Servers | undefined>
}

export const Cluster = defineService<Cluster>('cluster')
