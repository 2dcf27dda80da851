/** [cluster] role and primary_url. Spec: Configuration settings, Cluster behavior. */
import { Type } from '../../kernel/index.ts'

export const clusterKeys = Type.Object({
  role: Type.Union([Type.Literal('primary'), Type.Literal('standby'), Type.Literal('replica')], {
    default: 'primary',
    env: 'SERVER_ROLE',
    flag: 'role',
    flagValues: { standby: 'standby' },
    description:
      'What this process is for: a primary and a standby wait for the writer lease of the database and then write; a replica reads, and sends changes to primary_url.',
  }),
  primary_url: Type.Optional(
    Type.String({
      pattern: '^https?://[^\\s?#@]+$',
      allowed: 'an http or https URL without a user name',
      sample: 'https://primary.example.org',
      env: 'SERVER_PRIMARY_URL',
      flag: 'primary-url',
      description: 'Where a replica sends changes: the primary, or a balancer that asks /healthz.',
    }),
  ),
})

/** [cluster], decoded. */
export interface ClusterKeys {
  readonly role: 'primary' | 'standby' | 'replica'
  readonly primary_url?: string
}
