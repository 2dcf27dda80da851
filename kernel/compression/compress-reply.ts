/** Compresses what the router answers, in Fastify's hook onSend. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { AnswerHead, Compression } from './compression.ts'

const headOf = (reply: FastifyReply): AnswerHead => ({
  status: reply.statusCode,
  get: (name) => reply.getHeader(name),
  set: (name, value) => void reply.header(name, value),
  remove: (name) => void reply.removeHeader(name),
})

/** The body to send, now or later; undefined where it stays as it is. */
export const compressReply = (
  compression: Compression | null,
  request: FastifyRequest,
  reply: FastifyReply,
  body: unknown,
): ReturnType<Compression['apply']> => {
  if (compression === null) return undefined
  // What is shown in another form is not sent as it is stored.
  if (request.routeOptions.config?.compress !== true && request.ctx?.isPresented !== true) return undefined
  // Another server made this answer, and compressed what is worth it.
  if (request.ctx?.relayed === 'sent') return undefined
  if (!compression.concerns(reply.statusCode, reply.getHeader('content-type'), body)) return undefined
  return compression.apply(request.raw.headers, headOf(reply), body)
}
