/** Import: stores the resources of files, and goes on where it was interrupted. */
import { definePlugin } from '../../kernel/index.ts'
import { Database } from '../database/service.ts'
import { Fhir, Resources } from '../fhir/service.ts'
import { Jobs } from '../jobs/service.ts'
import { Model } from '../model/service.ts'
import { importSection } from './config.ts'
import * as errors from './errors.ts'
import { createImporter } from './importer.ts'
import { Importing } from './service.ts'
import { setUpImport } from './set-up-import.ts'
import { importMigrations } from './tables.ts'

export default definePlugin({
  name: 'import',
  description: 'Stores the resources of files: NDJSON, Bundles, archives; $import',
  config: { import: importSection },
  needs: { database: Database, fhir: Fhir, resources: Resources, model: Model },
  uses: [Jobs],
  provides: [Importing],
  migrations: importMigrations,
  errors,
  commands: { import: async () => (await import('./commands/import.ts')).default },
  setup({ config, needs, optional, provide, run, routes, clock, random, serves }) {
    const { database, resources } = needs
    provide(Importing, createImporter({ database, resources, clock }))
    const jobs = optional(Jobs)
    if (jobs === undefined) return undefined
    return setUpImport({ settings: config.import, ...needs, jobs, run, routes, clock, random, serves })
  },
})
