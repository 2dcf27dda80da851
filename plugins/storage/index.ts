/** Stores resources: their versions, the history, and the write path. It knows neither HTTP nor search. */
import { definePlugin } from '../../kernel/index.ts'
import { Database } from '../database/service.ts'
import { Model } from '../model/service.ts'
import { fhirSection } from './config.ts'
import * as errors from './errors.ts'
import { createStorage, Storage } from './opened-storage.ts'
import { keyMigrations, smallBodyMigrations, storageMigrations } from './tables.ts'

export default definePlugin({
  name: 'storage',
  description: 'Keeps every version of every resource',
  config: { fhir: fhirSection },
  needs: { database: Database, model: Model },
  provides: [Storage],
  migrations: [...storageMigrations, ...smallBodyMigrations, ...keyMigrations],
  errors,
  setup({ needs: { database, model }, provide, clock, run, config: { fhir } }) {
    const storage = createStorage(fhir)
    provide(Storage, storage.service)
    return { start: () => storage.open({ database, clock, run, types: [...model.catalog.types.keys()] }) }
  },
})
