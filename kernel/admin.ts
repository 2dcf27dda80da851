/**
 * Endpoints such as `/_usage`, which show how the server is used. A request to one is an interaction of kind `admin`:
 * `authorize` rules on it (under SMART it requires system/AuditEvent.read), it is recorded in the audit trail, and an
 * entry of a Bundle cannot name it. Spec: Authentication 2.
 */
import type { Readable } from 'node:stream'
import type { FastifyInstance, HTTPMethods } from 'fastify'
import type { Interaction, RequestContext } from './context.ts'
import { AdminParameter, AdminRestricted, MethodRefused } from './errors.ts'
import type { Runners } from './freeze.ts'
import { indentJsonInTurns } from './indent-json.ts'
import { toServerError } from './outcome.ts'
import { extentOf, type Restriction } from './restriction.ts'
import { Ruling } from './ruling.ts'

export interface AdminAnswer {
  /** 200 when left out. */
  readonly status?: number
  readonly type: string
  readonly body: string | Readable
  readonly headers?: Readonly<Record<string, string>>
}

export interface AdminEndpoint {
  /** `/_usage` */
  readonly path: string
  /** Its name in rulings and audit events; the path when left out. */
  readonly operation?: string
  /** False where another plugin answers other methods of the path; otherwise they are 405. */
  readonly isWhole?: boolean
  /** For descriptions of the server: what it shows, in a sentence, and the parameters of its query. */
  readonly summary?: string
  readonly query?: readonly string[]
  /**
   * False for an endpoint that is polled every few seconds and shows nothing about callers: then only refusals are
   * recorded in the audit trail.
   */
  readonly audited?: boolean
  /**
   * Set where the primary of a cluster answers in place of a replica: awaited by the replica before it asks. Stores what
   * this server still holds in memory of what the endpoint shows.
   */
  readonly beforeRelay?: () => Promise<void>
  /** Called once the caller is known to be allowed the answer. Throws 4xx. */
  answer(request: RequestContext): Promise<AdminAnswer>
}

// Access requires the right to read this type.
const toInteraction = (operation: string): Interaction => ({ kind: 'admin', type: 'AuditEvent', operation })

/**
 * The ruling on an interaction of kind `admin`. Throws, or rejects with, 403 where it does not let all AuditEvents be read; no
 * promise where all taps of `authorize` are synchronous.
 */
export const authorizeAdmin = (run: Runners, request: RequestContext, operation: string): Promise<Ruling> | Ruling => {
  const ruling = new Ruling()
  const decide = (): Ruling => {
    // These endpoints show the use of all callers, so a caller who may read only some AuditEvents is refused.
    const causes = (one: Restriction): boolean => extentOf(one, 'AuditEvent', 'r') !== 'all'
    if (ruling.extent('AuditEvent', 'r') === 'all') return ruling
    throw AdminRestricted().with({ headers: ruling.headersWhere(causes) })
  }
  const asked = run.authorize?.(request, toInteraction(operation), ruling)
  return asked instanceof Promise ? asked.then(decide) : decide()
}

/** The parameter `_pretty`. Throws 400. */
const readPretty = ({ url }: RequestContext): boolean => {
  const start = url.indexOf('?_') === -1 && url.indexOf('&_') === -1 ? -1 : url.indexOf('?')
  const value = start === -1 ? null : new URLSearchParams(url.slice(start + 1)).get('_pretty')
  if (value === null || value === 'false') return false
  if (value === 'true') return true
  throw AdminParameter('_pretty', 'true or false')
}

const isJson = (type: string): boolean => /^application\/(?:fhir\+)?json\b/.test(type)

/** GET and HEAD at its path; other methods are 405. JSON is indented where `_pretty` asks for it. */
export const mountAdmin = (app: FastifyInstance, run: Runners, endpoint: AdminEndpoint): void => {
  const { path: url, operation = url.slice(1), audited = true, isWhole = true, beforeRelay, summary, query } = endpoint
  const config = { requestClass: 'admin' as const, compress: true, presents: true }
  const described = {
    ...config,
    ...(summary !== undefined && { summary }),
    ...(query !== undefined && { query }),
  }
  const relaying = beforeRelay === undefined ? described : { ...described, relay: true, beforeRelay }
  app.route({
    method: 'GET',
    url,
    config: relaying,
    async handler({ ctx }, reply) {
      const interaction = toInteraction(operation)
      ctx.hasInteraction = audited
      try {
        await authorizeAdmin(run, ctx, operation)
        const isPretty = readPretty(ctx)
        const { status = 200, type, body: text, headers = {} } = await endpoint.answer(ctx)
        const body = isPretty && typeof text === 'string' && isJson(type) ? await indentJsonInTurns(text) : text
        if (audited) await run.onAudit?.({ request: ctx, interaction, status })
        // The figures change all the time, so no cache may store them.
        return reply
          .code(status)
          .headers({ ...headers, 'content-type': type, 'cache-control': 'no-store' })
          .send(body)
      } catch (error) {
        await run.onAudit?.({ request: ctx, interaction, status: ctx.recordedStatus(toServerError(error).status) })
        throw error
      }
    },
  })
  if (!isWhole) return
  app.route({
    method: app.supportedMethods.filter((one) => one !== 'GET' && one !== 'HEAD') as HTTPMethods[],
    url,
    config: { ...config, isRefusal: true },
    onRequest: ({ method }, _reply, next) => next(MethodRefused(method).with({ headers: { allow: 'GET, HEAD' } })),
    handler: () => undefined,
  })
}
