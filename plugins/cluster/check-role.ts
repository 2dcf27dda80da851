/** Refuses settings with which a server could not keep to its role. Spec: Cluster behavior. */
import type { ClusterKeys } from './config.ts'
import { PrimaryUrlMissing, RoleUnsuitable, SecretsMissing } from './errors.ts'

export interface RoleSettings {
  readonly cluster: ClusterKeys
  /** The section of server.toml, whichever keys are known there. */
  readonly database: { readonly kind?: unknown }
  readonly smart: { readonly dcr_token?: unknown; readonly confidential_secret?: unknown }
}

const WAYS = {
  dcr_token: 'SERVER_SMART_DCR_TOKEN or --smart-dcr-token',
  confidential_secret: 'SERVER_SMART_CONFIDENTIAL_SECRET or --smart-confidential-secret',
} as const

/** Throws RoleUnsuitable, SecretsMissing or PrimaryUrlMissing. A primary needs none of this. */
export const checkRole = ({ cluster: { role, primary_url }, database: { kind }, smart }: RoleSettings): void => {
  if (role === 'primary') return
  if (kind === 'memory') throw RoleUnsuitable(role, 'memory', 'no other process sees that database')
  if (role === 'replica' && kind === 'sqlite')
    throw RoleUnsuitable(
      role,
      'sqlite',
      'only the process that writes the file sees all of it, and [cluster] db_pool gives it more reader threads',
    )
  const missing = (['dcr_token', 'confidential_secret'] as const).filter((key) => smart[key] === undefined)
  if (missing.length > 0)
    throw SecretsMissing(
      role,
      `${missing.join(' and ')} of [smart] ${missing.length === 1 ? 'is' : 'are'}`,
      missing.map((key) => WAYS[key]).join(', and '),
    )
  if (role === 'replica' && primary_url === undefined) throw PrimaryUrlMissing()
}
