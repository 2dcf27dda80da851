/** Opens the source that package_registry names. Spec: [conformance] package_registry. */
import type { Static } from 'typebox'
import type { packageConformance } from './config.ts'
import { createHttpClient } from './http.ts'
import { createRegistry } from './registry.ts'
import { createS3Source } from './s3-source.ts'
import type { PackageSource } from './source.ts'

const IDLE_MS = 30_000 // a source that is silent for so long counts as unreachable

export interface SourceTools {
  readonly fetch: typeof globalThis.fetch
  readonly idleMs?: number
}

export const openSource = (
  settings: Static<typeof packageConformance>,
  { fetch, idleMs = IDLE_MS }: SourceTools,
): PackageSource => {
  const { package_registry: address } = settings
  if (!address.startsWith('s3://')) return createRegistry(address, createHttpClient({ fetch, idleMs }))
  return createS3Source(address, {
    accessKeyId: settings.s3_access_key_id,
    secretAccessKey: settings.s3_secret_access_key,
    sessionToken: settings.s3_session_token,
    endpoint: settings.s3_endpoint,
    region: settings.s3_region,
    idleMs,
  })
}
