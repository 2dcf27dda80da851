/** Creates the service `Importing`. */
import type { Clock } from '../../kernel/index.ts'
import type { Database } from '../database/service.ts'
import type { Resources } from '../fhir/service.ts'
import { findSources } from './find-sources.ts'
import { importFiles } from './import-files.ts'
import type { Importing } from './service.ts'

const BATCH_RECORDS = 250

export interface ImporterParts {
  readonly database: Database
  readonly resources: Resources
  readonly clock: Clock
}

export const createImporter = ({ database, resources, clock }: ImporterParts): Importing => ({
  async run(options, listener) {
    // Files of an export contain ids of resources, so updates create, whatever the setting for clients is.
    const session = resources.as({ kind: 'internal', purpose: 'import', updateAsCreate: true, readsMayWait: true })
    const transact = database.transact.bind(database)
    const parts = { database, session, clock, listener, transact, batchRecords: BATCH_RECORDS }
    return importFiles(parts, findSources(options.paths), options)
  },
})
