/** $export: FHIR data in NDJSON files, in the background. Spec: [export], Export job. */
import { definePlugin } from '../../kernel/index.ts'
import { Database } from '../database/service.ts'
import { Fhir, Resources } from '../fhir/service.ts'
import { Jobs } from '../jobs/service.ts'
import { Model } from '../model/service.ts'
import { Searches } from '../search/service.ts'
import { Storage } from '../storage/service.ts'
import { exportSection } from './config.ts'
import * as errors from './errors.ts'
import { refusedOperations } from './operations.ts'
import { setUpExport } from './set-up-export.ts'
import { exportMigrations } from './tables.ts'

export default definePlugin({
  name: 'export',
  description: 'Writes data to NDJSON files in the background: $export',
  config: { export: exportSection },
  needs: {
    database: Database,
    jobs: Jobs,
    fhir: Fhir,
    resources: Resources,
    model: Model,
    searches: Searches,
    storage: Storage,
  },
  migrations: exportMigrations,
  errors,
  setup({ config, needs, run, routes, clock, random, log }) {
    const { dir } = config.export
    if (dir !== undefined) return setUpExport({ ...needs, dir, run, routes, clock, random, log })
    for (const operation of refusedOperations()) needs.fhir.operation(operation)
    return undefined
  },
})
