import type { FastifyPluginCallback, FastifyPluginOptions } from 'fastify'

/**
 * Names a scope for Fastify, which otherwise looks for each function among all modules that are loaded: a twentieth of a
 * start.
 */
export const named = <O extends FastifyPluginOptions>(
  name: string,
  scope: FastifyPluginCallback<O>,
): FastifyPluginCallback<O> => Object.assign(scope, { [Symbol.for('fastify.display-name')]: name })
