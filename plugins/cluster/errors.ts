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
export const NotFollowing = defineError(
  'cluster/not-following',
  503,
  'transient',
  'This server reads what another one writes, and has heard nothing of that one for too long. Ask another server.',
)
export const DatabaseOther = defineError(
  'cluster/database-other',
  503,
  'transient',
  'The database was restored to an earlier state, and this server starts again on it. Try again.',
)
export const ClusterUnreadable = defineError(
  'cluster/unreadable',
  500,
  'exception',
  'The servers of the database cannot be read: %s',
)
