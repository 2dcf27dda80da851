/**
 * Endpoints that show what the server knows of its use. Each is an interaction of kind `admin` like any other: ruled on
 * (under SMART it asks for system/AuditEvent.read), told to the trail, and out of reach of a Bundle. Spec: Authentication 2.
 */
import type { Readable } from 'node:stream'
import type { FastifyInstance, HTTPMethods } from 'fastify'
import type { Interaction, RequestContext } from './context.ts'
import { AdminRestricted, MethodRefused } from './errors.ts'
import type { Runners } from './freeze.ts'
import { toServerError } from './outcome.ts'
import { extentOf, type Restriction, Ruling } from './ruling.ts'

export interface AdminAnswer {
  readonly type: string
  readonly body: string | Readable
  readonly headers?: Readonly<Record<string, string>>
}

export interface AdminEndpoint {
  /** `/_usage` */
  readonly path: string
  /** What it is called where its use is ruled on and told; its path when left out. */
  readonly operation?: string
  /** False where other methods of the address belong to another plugin. */
  readonly isWhole?: boolean
  /** False for one that is asked every few seconds and shows nobody's doings: then only refusals are told to the trail. */
  readonly audited?: boolean
  /** The answer with status 200; called once the caller is known to be allowed it. Throws 4xx. */
  answer(request: RequestContext): Promise<AdminAnswer>
}

const authorize = async (run: Runners, request: RequestContext, interaction: Interaction): Promise<void> => {
  if (run.authorize === null) return
  const ruling = new Ruling()
  await run.authorize(request, interaction, ruling)
  // A caller who may read a part of the trail only may not see what all callers do.
  const causes = (one: Restriction): boolean => extentOf(one, 'AuditEvent', 'r') !== 'all'
  if (ruling.extent('AuditEvent', 'r') !== 'all') throw AdminRestricted().with({ headers: ruling.headersWhere(causes) })
}

/** GET and HEAD at its path; other methods are 405. */
export const mountAdmin = (app: FastifyInstance, run: Runners, endpoint: AdminEndpoint): void => {
  const { path: url, operation = url.slice(1), audited = true, isWhole = true } = endpoint
  const config = { requestClass: 'admin' as const }
  app.route({
    method: 'GET',
    url,
    config,
    async handler({ ctx }, reply) {
      // The type whose read scope it asks for.
      const interaction: Interaction = { kind: 'admin', type: 'AuditEvent', operation }
      try {
        await authorize(run, ctx, interaction)
        const { type, body, headers = {} } = await endpoint.answer(ctx)
        if (audited) await run.onAudit?.({ request: ctx, interaction, status: 200 })
        // What is true now is nobody's to keep.
        return reply.headers({ ...headers, 'content-type': type, 'cache-control': 'no-store' }).send(body)
      } catch (error) {
        await run.onAudit?.({ request: ctx, interaction, status: toServerError(error).status })
        throw error
      }
    },
  })
  if (!isWhole) return
  app.route({
    method: app.supportedMethods.filter((one) => one !== 'GET' && one !== 'HEAD') as HTTPMethods[],
    url,
    config,
    onRequest: ({ method }, _reply, next) => next(MethodRefused(method).with({ headers: { allow: 'GET, HEAD' } })),
    handler: () => undefined,
  })
}
