/** The setting of the trace engine. Spec: [features]. */
import { Type } from '../../kernel/index.ts'

export const traceFeature = Type.Object({
  trace_engine: Type.Boolean({
    default: false,
    flag: 'trace-engine',
    description:
      'Says what the server did for a request that asks with X-Trace: 1, at /_trace/[id], to callers who may see everything.',
  }),
})
