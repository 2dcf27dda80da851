/** The source that package_registry names. Spec: [conformance] package_registry. */
import type { Static } from 'typebox'
import { createBucket } from './bucket.ts'
import type { conformanceSection } from './config.ts'
import { createHttpClient } from './http.ts'
import { createRegistry } from './registry.ts'
import type { PackageSource } from './source.ts'

const IDLE_MS = 30_000 // a source that is silent for so long is taken for dead

export interface SourceTools {
  readonly fetch: typeof globalThis.fetch
  readonly idleMs?: number
}

export const openSource = (
  settings: Static<typeof conformanceSection>,
  { fetch, idleMs = IDLE_MS }: SourceTools,
): PackageSource => {
  const { package_registry: address } = settings
  if (!address.startsWith('s3://')) return createRegistry(address, createHttpClient({ fetch, idleMs }))
  return createBucket(address, {
    accessKeyId: settings.s3_access_key_id,
    secretAccessKey: settings.s3_secret_access_key,
    sessionToken: settings.s3_session_token,
    endpoint: settings.s3_endpoint,
    region: settings.s3_region,
    idleMs,
  })
}
