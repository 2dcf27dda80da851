/** FHIR storage over HTTP: resource types from the installed packages, instance interactions, history, /metadata. */
import { definePlugin } from '../../kernel/index.ts'
import { Model } from '../model/service.ts'
import { Definitions } from '../packages/service.ts'
import { Reindexing, Searches, tapNames } from '../search/service.ts'
import { Storage } from '../storage/service.ts'
import { Validator } from '../validation/service.ts'
import { allErrors } from './all-errors.ts'
import { fhirConformance, fhirKeys } from './config.ts'
import { createExtensions } from './extensions.ts'
import { directRoutes } from './http/direct-routes.ts'
import { fhirRoutes } from './http/routes.ts'
import { builtInOperations } from './operations/built-in-operations.ts'
import { securityContextCheck } from './security-context-check.ts'
import { Fhir, Resources } from './service.ts'
import { createStart } from './start.ts'

export default definePlugin({
  name: 'fhir',
  description: 'Stores, versions and serves FHIR R4 resources',
  config: { conformance: fhirConformance, fhir: fhirKeys },
  needs: {
    definitions: Definitions,
    model: Model,
    storage: Storage,
    searches: Searches,
    reindexing: Reindexing,
  },
  uses: [Validator],
  provides: [Fhir, Resources],
  errors: allErrors,
  setup({ hooks, needs, optional, provide, routes, direct, config: { conformance, fhir }, ...host }) {
    const late = createStart()
    needs.storage.check(securityContextCheck)
    const additions = createExtensions({ ...late, ...needs, request: host.request })
    tapNames(hooks, () => late.get().view.search.view)
    const validator = optional(Validator)
    for (const operation of builtInOperations({ ...needs, validator, late: () => late.get().builtIn }))
      additions.operations.add(operation)
    provide(Fhir, additions.service)
    provide(Resources, additions.resources)
    routes(fhirRoutes({ server: late.get, bodyBytes: fhir.max_body_bytes, ...additions }))
    for (const route of directRoutes(late.get)) direct(route)
    return {
      async start(signal) {
        const shared = { ...host, ...needs, signal }
        await late.open({ ...shared, ...additions, conformance, fhir, validator })
      },
      stop: () => late.close(),
    }
  },
})
