/** FHIR packages: installed at start from a registry, a mirror, a bucket or disk. Spec: [conformance], Versioning 3. */
import { definePlugin } from '../../kernel/index.ts'
import { Database } from '../database/service.ts'
import { createDefinitions } from './catalog.ts'
import { packageConformance } from './config.ts'
import * as errors from './errors.ts'
import { createProgress } from './progress.ts'
import { parseRequest } from './request.ts'
import { DefinitionNames, Definitions, InstallProgress } from './service.ts'
import { createStartup } from './startup.ts'
import { createTables, PACKAGE_TABLES } from './tables.ts'

export default definePlugin({
  name: 'packages',
  description: 'Installs FHIR packages and answers what they define',
  config: { conformance: packageConformance },
  needs: { db: Database },
  provides: [Definitions, DefinitionNames, InstallProgress],
  migrations: [PACKAGE_TABLES],
  errors,
  setup({ config: { conformance }, needs: { db }, provide, busy, clock, random, log }) {
    // Wrong arguments are refused before the database is opened.
    conformance.packages.forEach(parseRequest)
    const tables = createTables(db)
    const catalog = createDefinitions(tables, db)
    const progress = createProgress()
    provide(Definitions, catalog)
    provide(DefinitionNames, catalog)
    provide(InstallProgress, progress)
    const startup = createStartup({
      settings: conformance,
      db,
      tables,
      fetch: globalThis.fetch,
      onWork: () => busy('installing packages'),
      onWait: () => busy('waiting for another server that installs packages'),
      report: progress.report,
      clock,
      random,
      log,
    })
    return {
      async start(signal) {
        // The server that writes installs them.
        if (!db.isReader) await startup(signal)
        await catalog.refresh()
      },
    }
  },
})
