/** /import/{job} and /import/{job}/errors. */
import type { FastifyPluginCallback, FastifyReply, FastifyRequest } from 'fastify'
import { type Clock, checkParameters, type Runners } from '../../kernel/index.ts'
import type { Database } from '../database/service.ts'
import {
  auditRefusals,
  emitJobAudit,
  findOwnJob,
  type JobRow,
  type Jobs,
  type PollLimit,
  sendProgress,
} from '../jobs/service.ts'
import { ImportFailed, ImportInput, ImportPolled, ImportUnknown } from './errors.ts'
import { toImportManifest } from './manifest.ts'
import { IMPORT_KIND } from './operations.ts'
import { type ErrorRow, type JobSourceRow, listErrors, listJobSources } from './tables.ts'

const NDJSON = 'application/fhir+ndjson'
const FHIR_JSON = 'application/fhir+json; charset=utf-8'
const JSON_TYPE = 'application/json'

export interface ImportRouteParts {
  readonly database: Database
  readonly jobs: Jobs
  readonly polls: PollLimit
  readonly run: Runners
  readonly clock: Clock
}

interface Addressed {
  readonly params: { readonly job: string }
  readonly query: { readonly input?: unknown }
}

/** The job, if it is the caller's and is still there. Throws 404. */
const findOwn = async ({ jobs, clock }: ImportRouteParts, { ctx, params }: FastifyRequest): Promise<JobRow> => {
  const { job: id } = params as Addressed['params']
  const job = await findOwnJob(jobs, { id, kind: IMPORT_KIND, caller: ctx.caller }, ImportUnknown)
  if (Number(job.expires) > 0 && Number(job.expires) <= clock.now()) throw ImportUnknown()
  return job
}

const sendStatus = async (parts: ImportRouteParts, request: FastifyRequest, reply: FastifyReply) => {
  const { database, clock, polls } = parts
  checkParameters(request.ctx)
  const job = await findOwn(parts, request)
  reply.header('cache-control', 'no-store')
  if (job.state === 'failed') {
    const sofar = job.progress === '' ? '' : ` Before that: ${job.progress}.`
    throw ImportFailed(`${job.error}${sofar}`).with({ isExpected: true })
  }
  if (job.state === 'finished') {
    const rows = await database.all<JobSourceRow>(listJobSources, [`${job.id}-`])
    return reply
      .header('expires', new Date(Number(job.expires)).toUTCString())
      .type(JSON_TYPE)
      .send(JSON.stringify(toImportManifest(job, rows, request.ctx.baseUrl)))
  }
  const { seconds, isEarly } = polls.poll(job.id, clock.now() - Number(job.created))
  if (isEarly) throw ImportPolled(seconds).with({ headers: { 'retry-after': String(seconds) } })
  return sendProgress(reply, job, seconds)
}

const sendErrors = async (parts: ImportRouteParts, request: FastifyRequest, reply: FastifyReply) => {
  checkParameters(request.ctx, ['input'])
  const job = await findOwn(parts, request)
  const { input } = request.query as Addressed['query']
  if (input !== undefined && (typeof input !== 'string' || !/^[1-9]\d{0,8}$/.test(input))) throw ImportInput()
  const rows = await parts.database.all<ErrorRow>(listErrors, [job.id])
  const lines = rows
    .filter((row) => input === undefined || Number(row.input) === Number(input) - 1)
    .map(({ outcome }) => `${outcome}\n`)
  await emitJobAudit(parts.run, request.ctx, { operation: 'import-errors' }, 200)
  return reply.type(NDJSON).header('cache-control', 'no-store').send(lines.join(''))
}

const end = async (parts: ImportRouteParts, request: FastifyRequest, reply: FastifyReply) => {
  const { jobs } = parts
  checkParameters(request.ctx)
  const { id } = await findOwn(parts, request)
  if (!((await jobs.cancel(id)) || (await jobs.remove(id)))) throw ImportUnknown()
  await emitJobAudit(parts.run, request.ctx, { operation: 'import-delete' }, 202)
  const diagnostics = 'The import has ended; what it had stored stays.'
  return reply
    .code(202)
    .type(FHIR_JSON)
    .send(
      JSON.stringify({
        resourceType: 'OperationOutcome',
        issue: [{ severity: 'information', code: 'informational', diagnostics }],
      }),
    )
}

export const importRoutes =
  (parts: ImportRouteParts): FastifyPluginCallback =>
  (app, _options, done) => {
    const answering = (answer: typeof sendStatus, operation: string) =>
      auditRefusals(parts.run, operation, (request, reply) => answer(parts, request, reply))
    const config = { requestClass: 'read', relay: true } as const
    app.get('/import/:job', { config }, answering(sendStatus, 'import-status'))
    app.get('/import/:job/errors', { config }, answering(sendErrors, 'import-errors'))
    app.delete('/import/:job', { config: { ...config, requestClass: 'write' } }, answering(end, 'import-delete'))
    done()
  }
