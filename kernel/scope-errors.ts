/** Answers the errors of one scope of Fastify. */
import type { FastifyInstance } from 'fastify'
import type { AnswerError } from './answer-error.ts'
import { attributeError } from './attribute-error.ts'
import type { MountOptions } from './http-parts.ts'
import { ServerError } from './server-error.ts'

/** True for the kernel's own refusals, which must not be attributed to the plugin of the route. */
const isOwn = (error: unknown): boolean => error instanceof ServerError && error.key.startsWith('kernel/')

/** Answers our errors in a scope, and passes those of the host's own hooks to the host's handler. */
export const answerErrors = (
  scope: FastifyInstance,
  answerError: AnswerError,
  { isHosts }: MountOptions,
  plugin?: string,
): void => {
  scope.setErrorHandler((error, request, reply) => {
    if (isHosts?.(reply.raw)) return reply.send(error)
    answerError(plugin === undefined || isOwn(error) ? error : attributeError(error, plugin), request, reply)
  })
}
