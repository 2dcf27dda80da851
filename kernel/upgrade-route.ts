/** A route that takes WebSockets: what the kernel does in front of its handler, and when that fails. */
import type { FastifyReply, RouteOptions } from 'fastify'
import type { Logger } from 'pino'
import { steps } from './context.ts'
import { ServerError } from './server-error.ts'
import type { Upgrades } from './upgrades.ts'

const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  typeof (value as { then?: unknown } | null | undefined)?.then === 'function'

/** The check comes after the request hooks, so that a refusal is limited and counted like every other. */
export const mountUpgrade = (
  route: RouteOptions,
  plugin: string,
  { upgrades, log }: { readonly upgrades: Upgrades; readonly log: Logger },
): void => {
  upgrades.declare()
  route.onRequest = [
    ...[route.onRequest ?? []].flat(),
    (request, reply, done) => {
      const take = upgrades.offer(reply.raw)
      if (take instanceof ServerError) return done(take)
      steps.giveUpgrade(request.ctx, () => {
        const upgrade = take()
        // Fastify does not answer any more.
        if (upgrade !== undefined) reply.hijack()
        return upgrade
      })
      done()
    },
  ]
  /** Once the connection is taken, an error cannot be answered: it is logged, and the connection is cut. */
  const fail = (error: unknown, reply: FastifyReply): void => {
    if (!upgrades.isTaken(reply.raw)) throw error
    log.error({ request: reply.request.ctx.id, plugin, err: error }, 'a route failed after it took the connection')
    reply.raw.socket?.destroy()
  }
  const { handler } = route
  route.handler = function guarded(request, reply) {
    try {
      const result: unknown = handler.call(this, request, reply)
      return isThenable(result) ? result.then(undefined, (error) => fail(error, reply)) : result
    } catch (error) {
      return fail(error, reply)
    }
  }
}
