/** FHIR storage over HTTP: resource types from the installed packages, instance interactions, history, /metadata. */
import { definePlugin } from '../../kernel/index.ts'
import { Database } from '../database/service.ts'
import { Definitions } from '../packages/service.ts'
import { tapNames } from '../search/access/restriction-names.ts'
import { Reindexing } from '../search/index/reindexing.ts'
import { CodeExpander } from '../search/query/code-expander.ts'
import { Validator } from '../validation/service.ts'
import { allErrors } from './all-errors.ts'
import { allMigrations } from './all-migrations.ts'
import { conformanceSection, fhirSection } from './config.ts'
import { createAdditions } from './extensions.ts'
import { directRoutes } from './http/direct-routes.ts'
import { fhirRoutes } from './http/routes.ts'
import { ownOperations } from './operations/own-operations.ts'
import { Fhir } from './service.ts'
import { createLateServer } from './start.ts'

export default definePlugin({
  name: 'fhir',
  description: 'Stores, versions and serves FHIR R4 resources',
  config: { conformance: conformanceSection, fhir: fhirSection },
  needs: { database: Database, definitions: Definitions },
  uses: [Validator],
  provides: [Fhir, Reindexing],
  migrations: allMigrations,
  errors: allErrors,
  commands: { reindex: async () => (await import('../search/commands/reindex.ts')).default },
  setup({ hooks, needs, optional, provide, routes, direct, config: { conformance, fhir }, ...host }) {
    const late = createLateServer()
    const additions = createAdditions(late)
    tapNames(hooks, late.get)
    const validator = optional(Validator)
    for (const operation of ownOperations({ ...needs, validator })) additions.operations.add(operation)
    provide(Fhir, additions.service)
    provide(Reindexing, additions.service)
    routes(fhirRoutes({ server: late.get, bodyBytes: fhir.max_body_bytes, ...additions }))
    for (const route of directRoutes(late.get)) direct(route)
    return {
      async start(signal) {
        host.busy('reading the definitions')
        // Asked for now and not in setup: a terminology may itself stand on this plugin.
        const terminology = optional(CodeExpander)
        const shared = { ...host, ...needs, signal }
        await late.open({ ...shared, ...additions, conformance, fhir, validator, terminology })
      },
      stop: () => late.close(),
    }
  },
})
