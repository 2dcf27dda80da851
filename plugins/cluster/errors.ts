/** Errors for operators whose settings do not fit the role of a server. */
import { defineError } from '../../kernel/index.ts'

export const RoleUnsuitable = defineError(
  'cluster/role-unsuitable',
  500,
  'exception',
  '[cluster] role = "%s" does not go with [database] kind = "%s": %s.',
)
export const SecretsMissing = defineError(
  'cluster/secrets-missing',
  500,
  'exception',
  '[cluster] role = "%s" needs the secrets that the other servers have, and %s not set: set %s. Generated ones change at every start.',
)
export const PrimaryUrlMissing = defineError(
  'cluster/primary-url-missing',
  500,
  'exception',
  '[cluster] role = "replica" needs to know where it sends changes: set primary_url under [cluster], SERVER_PRIMARY_URL or --primary-url.',
)
export const ClusterUnreadable = defineError(
  'cluster/unreadable',
  500,
  'exception',
  'The servers of the database cannot be read: %s',
)
export const RoleNotBuilt = defineError(
  'cluster/role-not-built',
  500,
  'exception',
  '[cluster] role = "%s" is for what this build does not have yet: servers that only read; remove it.',
)
