/** GET /openapi.json: the OpenAPI 3.1 document of this server, made from what is registered and installed. */
import { definePlugin } from '../../kernel/index.ts'
import { Fhir } from '../fhir/service.ts'
import { createDescription } from './description.ts'
import { openApiRoute } from './routes.ts'
import { OpenApi } from './service.ts'

export default definePlugin({
  name: 'openapi',
  description: 'Describes the interface of this server as OpenAPI 3.1: /openapi.json',
  needs: { fhir: Fhir },
  provides: [OpenApi],
  commands: { openapi: async () => (await import('./commands/openapi.ts')).default },
  setup({ needs, provide, routes, listRoutes, request }) {
    const describe = createDescription({ fhir: needs.fhir, listRoutes })
    provide(OpenApi, {
      text: () => describe(request({ caller: { kind: 'internal' }, purpose: 'openapi' })),
    })
    routes(openApiRoute(describe))
  },
})
