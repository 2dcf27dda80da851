/** Wraps the handler of a route about jobs, so that requests it refuses are recorded in the audit trail. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Runners, toServerError } from '../../kernel/index.ts'
import { emitJobAudit } from './emit-job-audit.ts'

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

export const auditRefusals =
  (run: Pick<Runners, 'onAudit'>, operation: string, handle: Handler): Handler =>
  async (request, reply) => {
    try {
      return await handle(request, reply)
    } catch (error) {
      await emitJobAudit(run, request.ctx, { operation }, toServerError(error).status)
      throw error
    }
  }
