/** FHIR storage over HTTP: resource types from the installed packages, instance interactions, history, /metadata. */
import { definePlugin } from '../../kernel/index.ts'
import { Database } from '../database/service.ts'
import { Definitions } from '../packages/service.ts'
import { Terminology } from '../terminology/service.ts'
import { Validator } from '../validation/service.ts'
import { createAdditions } from './additions.ts'
import { allErrors } from './all-errors.ts'
import { conformanceSection, fhirSection } from './config.ts'
import { directRoutes } from './direct.ts'
import { createLateServer } from './late.ts'
import { ownOperations } from './operations/own-operations.ts'
import { fhirRoutes } from './routes.ts'
import { displayMigrations, searchMigrations } from './search/tables.ts'
import { wordMigrations } from './search/words/tables.ts'
import { Fhir } from './service.ts'
import { migrations, smallBodyMigrations } from './store/tables.ts'

export default definePlugin({
  name: 'fhir',
  description: 'Stores, versions and serves FHIR R4 resources',
  config: { conformance: conformanceSection, fhir: fhirSection },
  needs: { database: Database, definitions: Definitions },
  uses: [Validator],
  provides: [Fhir],
  migrations: [...migrations, ...searchMigrations, ...wordMigrations, ...displayMigrations, ...smallBodyMigrations],
  errors: allErrors,
  commands: { reindex: async () => (await import('./commands/reindex.ts')).default },
  setup({ config: { conformance, fhir }, needs, optional, run, provide, routes, direct, busy, clock, random, log }) {
    const late = createLateServer()
    const additions = createAdditions(late)
    const validator = optional(Validator)
    for (const operation of ownOperations({ ...needs, validator })) additions.operations.add(operation)
    provide(Fhir, additions.service)
    const updateAsCreate = conformance.update_as_create
    routes(fhirRoutes({ server: late.get, bodyBytes: fhir.max_body_bytes, updateAsCreate, ...additions }))
    for (const route of directRoutes(late.get)) direct(route)
    return {
      async start(signal) {
        busy('reading the definitions')
        // Asked for now and not in setup: a terminology may itself stand on this plugin.
        const terminology = optional(Terminology)
        const shared = { ...needs, run, clock, random, log, busy, signal }
        await late.open({ ...shared, ...additions, conformance, fhir, validator, terminology })
      },
      stop: () => late.close(),
    }
  },
})
