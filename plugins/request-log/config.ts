/** Settings of the request log. Spec: [request_log]. */
import { Type } from '../../kernel/index.ts'

export const requestLogSection = Type.Object({
  enabled: Type.Boolean({
    default: true,
    description: 'Logs one structured line per request, with its X-Request-Id.',
  }),
  store: Type.Boolean({
    default: false,
    description: 'Also keeps recent requests in the database, shown at /_requests.',
  }),
  retention_hours: Type.Integer({
    default: 24,
    minimum: 1,
    maximum: 87_600,
    description: 'Hours for which stored requests are kept.',
  }),
  refused_per_second: Type.Integer({
    default: 20,
    minimum: 0,
    description:
      'Rows stored per second for throttled requests and for failures of callers without a token; those beyond are counted in one row. 0 stores every one.',
  }),
})
