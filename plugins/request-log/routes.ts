/** GET /_requests: the recent requests, newest first, in pages. Spec: Endpoints. */
import type { FastifyPluginCallback } from 'fastify'
import {
  AdminParameter,
  linkWith,
  mountAdmin,
  type Runners,
  readAdminClass,
  readAdminNumber,
  readAdminQuery,
} from '../../kernel/index.ts'
import { type Database, type SqlParam, sql } from '../database/service.ts'
import type { RequestRow } from './tables.ts'

export interface RequestsParts {
  readonly database: Database
  readonly run: Runners
  /** Resolves when the requests recorded by this server are in the database. */
  readonly flush: () => Promise<void>
}

const PARAMETERS = ['client', 'status', 'class', 'from', 'to', 'request', '_count', '_page']
const PAGE = 100
const MAX_PAGE = 1_000
const LATEST = Number.MAX_SAFE_INTEGER
// One statement for all filters: a filter that is not given is null.
const select = sql(
  'request-log.page',
  `SELECT seq, time, request, method, route, class, status, bytes_in, bytes_out, micros, client, caller, address, counted FROM request_log WHERE seq < ? AND time >= ? AND time < ? AND (CAST(? AS text) IS NULL OR request = ?) AND (CAST(? AS text) IS NULL OR client = ?) AND (CAST(? AS text) IS NULL OR class = ?) AND (CAST(? AS integer) IS NULL OR status = ?) ORDER BY seq DESC LIMIT ?`,
)

const INSTANT = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d))?$/

/** A day or an instant, in milliseconds since the epoch. */
const readTime = (name: string, text: string | undefined): number | undefined => {
  if (text === undefined) return undefined
  const time = INSTANT.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(time)) throw AdminParameter(name, 'an instant such as 2026-11-21T20:00:00Z, or a day in UTC')
  return time
}

/** The members of the log line. A summary has the number of requests that it stands for. */
const toJson = ({ time, status, bytes_in, bytes_out, counted, ...row }: RequestRow) => {
  const shared = { time: new Date(time).toISOString(), status, bytes_in, bytes_out }
  if (row.request === null) return { ...shared, summary: true, count: counted }
  const { request, method, route, class: requestClass, micros, client, caller, address } = row
  return {
    request,
    method,
    ...(route !== null && { route }),
    class: requestClass,
    ...shared,
    ms: micros / 1000,
    ...(client !== null && { client }),
    ...(caller !== null && { user: caller }),
    ...(address !== null && { address }),
  }
}

export const requestsEndpoint =
  ({ database, run, flush }: RequestsParts): FastifyPluginCallback =>
  (app, _options, done) => {
    mountAdmin(app, run, {
      summary: 'Recent requests.',
      query: PARAMETERS,
      path: '/_requests',
      beforeRelay: flush,
      async answer(request) {
        const query = readAdminQuery(request, PARAMETERS)
        const count = readAdminNumber(query, '_count', 1, MAX_PAGE) ?? PAGE
        const before = readAdminNumber(query, '_page', 1, LATEST) ?? LATEST
        const status = readAdminNumber(query, 'status', 100, 599) ?? null
        const from = readTime('from', query.get('from')) ?? 0
        const to = readTime('to', query.get('to')) ?? LATEST
        const requestClass = readAdminClass(query) ?? null
        const id = query.get('request') ?? null
        const client = query.get('client') ?? null
        await flush()
        const filters: SqlParam[] = [id, id, client, client, requestClass, requestClass, status, status]
        const rows = await database.longQuery<RequestRow>(
          select,
          [before, from, to, ...filters, count + 1],
          request.signal,
        )
        const page = rows.slice(0, count)
        const last = rows.length > count ? page.at(-1) : undefined
        const next = last && linkWith(request, '_page', String(last.seq))
        return { type: 'application/json; charset=utf-8', body: JSON.stringify({ requests: page.map(toJson), next }) }
      },
    })
    done()
  }
