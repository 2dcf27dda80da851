/** /export/{job} and /export/{job}/file. Spec: Endpoints. https://hl7.org/fhir/uv/bulkdata/STU2/export.html#bulk-data-status-request */
import { pipeline } from 'node:stream'
import { createGzip } from 'node:zlib'
import type { FastifyPluginCallback, FastifyReply, FastifyRequest } from 'fastify'
import { type Clock, checkParameters, type RequestContext, type Runners } from '../../kernel/index.ts'
import type { Database } from '../database/service.ts'
import type { Resources } from '../fhir/service.ts'
import {
  auditRefusals,
  emitJobAudit,
  findOwnJob,
  type JobRow,
  type Jobs,
  type PollLimit,
  sendProgress,
} from '../jobs/service.ts'
import { checkFileRights } from './check-file-rights.ts'
import { ExportFailed, ExportPart, ExportPolled, ExportUnknown } from './errors.ts'
import type { ExportFolder } from './export-folder.ts'
import { toExportManifest } from './manifest.ts'
import { EXPORT_KIND } from './operations.ts'
import { type PartRow, readParts } from './tables.ts'
import { restrictionsOf } from './write-parts.ts'

const NDJSON = 'application/fhir+ndjson'
const FHIR_JSON = 'application/fhir+json; charset=utf-8'
const JSON_TYPE = 'application/json'

export interface ExportRouteParts {
  readonly database: Database
  readonly jobs: Jobs
  readonly resources: Resources
  readonly folder: ExportFolder
  readonly polls: PollLimit
  readonly run: Runners
  readonly clock: Clock
}

interface Addressed {
  readonly params: { readonly job: string }
  readonly query: { readonly part?: unknown }
}

/** The job, if it is the caller's and is still there. Throws 404. */
const findOwn = ({ jobs }: ExportRouteParts, { caller }: RequestContext, id: string): Promise<JobRow> =>
  findOwnJob(jobs, { id, kind: EXPORT_KIND, caller }, ExportUnknown)

const isOver = ({ expires }: JobRow, clock: Clock): boolean => Number(expires) > 0 && Number(expires) <= clock.now()

const sendStatus = async (parts: ExportRouteParts, { ctx, params }: FastifyRequest, reply: FastifyReply) => {
  const { database, clock, polls } = parts
  checkParameters(ctx)
  const job = await findOwn(parts, ctx, (params as Addressed['params']).job)
  if (isOver(job, clock)) throw ExportUnknown()
  reply.header('cache-control', 'no-store')
  if (job.state === 'failed') throw ExportFailed(job.error).with({ isExpected: true })
  if (job.state === 'finished') {
    const rows = await database.all<PartRow>(readParts, [job.id])
    return reply
      .header('expires', new Date(Number(job.expires)).toUTCString())
      .type(JSON_TYPE)
      .send(JSON.stringify(toExportManifest(job, rows, ctx.baseUrl)))
  }
  const { seconds, isEarly } = polls.poll(job.id, clock.now() - Number(job.created))
  if (isEarly) throw ExportPolled(seconds).with({ headers: { 'retry-after': String(seconds) } })
  return sendProgress(reply, job, seconds)
}

/** The part that `?part=` names, or the only one. Throws 400, 404. */
const findPart = (rows: readonly PartRow[], text: unknown): PartRow => {
  const files = rows.filter(({ file }) => file !== '')
  if (text === undefined && files.length === 1) return files[0] as PartRow
  if (typeof text !== 'string' || !/^\d{1,9}$/.test(text)) throw ExportPart()
  const found = files.find(({ part }) => part === Number(text))
  if (found === undefined) throw ExportUnknown()
  return found
}

const acceptsGzip = (header: unknown): boolean =>
  typeof header === 'string' && /(^|,)\s*gzip\s*(;\s*q=(?!0(\.0*)?\s*(,|$))[\d.]+\s*)?(,|$)/i.test(header)

const sendFile = async (parts: ExportRouteParts, request: FastifyRequest, reply: FastifyReply) => {
  const { database, resources, folder, run, clock } = parts
  const { ctx, headers, params, query } = request
  checkParameters(ctx, ['part'])
  const job = await findOwn(parts, ctx, (params as Addressed['params']).job)
  if (job.state !== 'finished' || isOver(job, clock)) throw ExportUnknown()
  const rows = await database.all<PartRow>(readParts, [job.id])
  const { section, type, file, bytes, lines } = findPart(rows, (query as Addressed['query']).part)
  // The section of notes holds no data, so it needs no rights.
  if (section !== 'error') checkFileRights(await resources.as(ctx).ruling(type), restrictionsOf(job), type)
  const stream = await folder.read(job.id, file, Number(bytes))
  try {
    await emitJobAudit(
      run,
      ctx,
      { operation: 'export-file', type: section === 'error' ? undefined : type },
      200,
      Number(lines),
    )
  } catch (error) {
    stream.destroy()
    throw error
  }
  reply.type(NDJSON).headers({ vary: 'accept-encoding', 'cache-control': 'no-store' })
  if (!acceptsGzip(headers['accept-encoding'])) return reply.header('content-length', String(bytes)).send(stream)
  const packed = createGzip({ level: 1 })
  pipeline(stream, packed, () => undefined)
  return reply.header('content-encoding', 'gzip').send(packed)
}

const end = async (parts: ExportRouteParts, { ctx, params }: FastifyRequest, reply: FastifyReply) => {
  const { jobs, run } = parts
  checkParameters(ctx)
  const { id } = await findOwn(parts, ctx, (params as Addressed['params']).job)
  if (!((await jobs.cancel(id)) || (await jobs.remove(id)))) throw ExportUnknown()
  await emitJobAudit(run, ctx, { operation: 'export-delete' }, 202)
  const issue = [
    { severity: 'information', code: 'informational', diagnostics: 'The export and its files are deleted.' },
  ]
  return reply
    .code(202)
    .type(FHIR_JSON)
    .send(JSON.stringify({ resourceType: 'OperationOutcome', issue }))
}

export const exportRoutes =
  (parts: ExportRouteParts): FastifyPluginCallback =>
  (app, _options, done) => {
    const answering = (answer: typeof sendStatus, operation: string) =>
      auditRefusals(parts.run, operation, (request, reply) => answer(parts, request, reply))
    const config = { requestClass: 'read', relay: true } as const
    app.get('/export/:job', { config }, answering(sendStatus, 'export-status'))
    app.get('/export/:job/file', { config }, answering(sendFile, 'export-file'))
    app.delete('/export/:job', { config: { ...config, requestClass: 'write' } }, answering(end, 'export-delete'))
    done()
  }
