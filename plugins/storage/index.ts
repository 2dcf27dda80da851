/** Stores resources: their versions, the history, and the write path. It knows neither HTTP nor search. */
import { definePlugin } from '../../kernel/index.ts'
import { ChangeFeed, Database } from '../database/service.ts'
import { Model } from '../model/service.ts'
import { fhirSection } from './config.ts'
import * as errors from './errors.ts'
import { createStorage, Storage } from './opened-storage.ts'
import { keyMigrations, smallBodyMigrations, storageMigrations } from './tables.ts'

export default definePlugin({
  name: 'storage',
  description: 'Keeps every version of every resource',
  config: { fhir: fhirSection },
  needs: { database: Database, feed: ChangeFeed, model: Model },
  provides: [Storage],
  migrations: [...storageMigrations, ...smallBodyMigrations, ...keyMigrations],
  errors,
  setup({ needs: { database, feed, model }, provide, clock, run, busy, memory, config: { fhir } }) {
    const storage = createStorage(fhir, memory)
    provide(Storage, storage.service)
    const onWait = (): void => busy('waiting for the catalog of the primary')
    return {
      start(signal) {
        const types = [...model.catalog.types.keys()]
        return storage.open({ database, feed, clock, run, types, waiting: { signal, onWait } })
      },
    }
  },
})
