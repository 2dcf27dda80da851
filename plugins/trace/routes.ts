/** GET /_trace/[id]: a trace as JSON. */
import type { FastifyPluginCallback } from 'fastify'
import { mountAdmin, type Runners, readAdminQuery } from '../../kernel/index.ts'
import { TraceUnknown } from './errors.ts'
import { type KeptTraces, MAX_TRACES } from './kept-traces.ts'
import { checkMayTrace, OPERATION } from './may-trace.ts'

export const traceEndpoint =
  (run: Runners, kept: KeptTraces): FastifyPluginCallback =>
  (app, _options, done) => {
    mountAdmin(app, run, {
      summary: 'What the server did for a request.',
      path: '/_trace/:trace',
      operation: OPERATION,
      async answer(request) {
        await checkMayTrace(run, request)
        readAdminQuery(request, [])
        const trace = kept.get(/\/_trace\/([^/?]*)/.exec(request.url)?.[1] ?? '')
        if (trace === undefined) throw TraceUnknown(MAX_TRACES)
        return { type: 'application/json', body: JSON.stringify(trace.toJson()) }
      },
    })
    done()
  }
