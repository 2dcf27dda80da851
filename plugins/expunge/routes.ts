/** /expunge/{job}: how far the erasing of a record is. */
import type { FastifyPluginCallback, FastifyReply, FastifyRequest } from 'fastify'
import type { Clock, Runners } from '../../kernel/index.ts'
import { auditRefusals, findOwnJob, type Jobs, type PollLimit, sendProgress } from '../jobs/service.ts'
import { ExpungeFailed, ExpungePolled, ExpungeUnknown } from './errors.ts'
import { EXPUNGE_KIND } from './operation.ts'

export interface ExpungeRouteParts {
  readonly jobs: Jobs
  readonly polls: PollLimit
  readonly run: Runners
  readonly clock: Clock
}

const answer = async ({ jobs, polls, clock }: ExpungeRouteParts, request: FastifyRequest, reply: FastifyReply) => {
  const { job: id } = request.params as { readonly job: string }
  const { caller } = request.ctx
  const job = await findOwnJob(jobs, { id, kind: EXPUNGE_KIND, caller }, ExpungeUnknown)
  reply.header('cache-control', 'no-store')
  if (job.state === 'failed') throw ExpungeFailed(job.error).with({ isExpected: true })
  if (job.state !== 'finished') {
    const { seconds, isEarly } = polls.poll(job.id, clock.now() - Number(job.created))
    if (isEarly) throw ExpungePolled(seconds).with({ headers: { 'retry-after': String(seconds) } })
    return sendProgress(reply, job, seconds)
  }
  const diagnostics = 'The record is erased.'
  const issue = [{ severity: 'information', code: 'informational', diagnostics }]
  return reply.type('application/fhir+json; charset=utf-8').send({ resourceType: 'OperationOutcome', issue })
}

export const expungeRoutes =
  (parts: ExpungeRouteParts): FastifyPluginCallback =>
  (app, _options, done) => {
    const config = { requestClass: 'read', relay: true } as const
    const handle = auditRefusals(parts.run, 'expunge-status', (request, reply) => answer(parts, request, reply))
    app.get('/expunge/:job', { config }, handle)
    done()
  }
