/** What other plugins may know of the cluster: the role of this process. */
import { defineService } from '../../kernel/index.ts'

export interface Cluster {
  readonly role: 'primary' | 'standby' | 'replica'
  /** Without a slash at its end; undefined where it is not set, which a replica never has. */
  readonly primaryUrl: string | undefined
}

export const Cluster = defineService<Cluster>('cluster')
