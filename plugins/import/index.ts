/** Import: stores the resources of files, and goes on where it was interrupted. */
import { definePlugin } from '../../kernel/index.ts'
import { Database } from '../database/service.ts'
import { Resources } from '../fhir/service.ts'
import * as errors from './errors.ts'
import { createImporter } from './importer.ts'
import { Importing } from './service.ts'
import { importMigrations } from './tables.ts'

export default definePlugin({
  name: 'import',
  description: 'Stores the resources of files: NDJSON, Bundles, archives',
  needs: { database: Database, resources: Resources },
  provides: [Importing],
  migrations: importMigrations,
  errors,
  commands: { import: async () => (await import('./commands/import.ts')).default },
  setup({ needs: { database, resources }, provide, clock }) {
    provide(Importing, createImporter({ database, resources, clock }))
  },
})
