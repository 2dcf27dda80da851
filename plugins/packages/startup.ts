/** Decides what a start installs, and from where. Spec: [conformance], Versioning 3. */
import type { Static } from 'typebox'
import type { Clock, Logger, Random } from '../../kernel/index.ts'
import type { Database } from '../database/service.ts'
import type { packageConformance } from './config.ts'
import { createInstaller } from './install.ts'
import { parseRequest } from './request.ts'
import type { InstallStep } from './service.ts'
import type { PackageTables } from './tables.ts'

// Spec: Versioning 3, default packages of r4.
const DEFAULT_PACKAGES = ['hl7.fhir.r4.core@4.0.1', 'hl7.fhir.uv.sdc@4.0.0']

export interface StartupOptions {
  readonly settings: Static<typeof packageConformance>
  readonly db: Database
  readonly tables: PackageTables
  readonly fetch: typeof globalThis.fetch
  readonly onWork: () => void
  /** Called when another server is installing. */
  readonly onWait: () => void
  readonly report: (step: InstallStep) => void
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
}

/**
 * Installs the default and the configured packages that are missing. Throws an error of one line that says what to do.
 */
export const createStartup = (options: StartupOptions) => {
  const { settings, db, tables, fetch, onWork, onWait, report, clock, random, log } = options
  // What fetches and unpacks is loaded when there is something to get, which most starts have not.
  const acquirer = async () => {
    const [{ openSource }, { createPackageCache }, { cacheFolder }, { createAcquirer }] = await Promise.all([
      import('./open-source.ts'),
      import('./cache.ts'),
      import('./cache-folder.ts'),
      import('./fetch-package.ts'),
    ])
    const source = openSource(settings, { fetch })
    const path = settings.package_cache ?? (await cacheFolder(db))
    const onDamaged = (file: string) => log.warn({ file }, 'a cached package is damaged; it is fetched again')
    return createAcquirer({ source, cache: createPackageCache({ path, clock, random, onDamaged }), log, report })
  }
  const alone = (work: () => Promise<void>, signal: AbortSignal): Promise<void> =>
    db.alone('packages', work, {
      signal,
      onWait() {
        log.info('waiting for another server to install packages')
        onWait()
      },
    })
  const install = createInstaller({ tables, alone, acquirer, onWork, log, clock, report })
  const names = [...(settings.skip_default_packages ? [] : DEFAULT_PACKAGES), ...settings.packages]
  return (signal: AbortSignal): Promise<void> => install(names.map(parseRequest), signal)
}
