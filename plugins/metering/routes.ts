/** GET /_usage: usage by client, UTC day and class, as JSON or CSV, in pages. Spec: Endpoints. */
import type { FastifyPluginCallback } from 'fastify'
import {
  AdminFormat,
  AdminParameter,
  linkWith,
  mountAdmin,
  type Runners,
  readAdminClass,
  readAdminNumber,
  readAdminQuery,
} from '../../kernel/index.ts'
import { type Database, type SqlParam, sql } from '../database/service.ts'
import { toCsv } from './csv.ts'
import { pageTokenOf, readPageToken } from './page-token.ts'
import type { UsageRow } from './tables.ts'

export interface UsageParts {
  readonly database: Database
  readonly run: Runners
  /** Resolves when the counts of this server are in the database. */
  readonly flush: () => Promise<void>
}

const PARAMETERS = ['client', 'from', 'to', 'class', '_count', '_page', '_format']
const PAGE = 1_000
const MAX_PAGE = 10_000
const COLUMNS = 'client, day, class, requests, bytes_in, bytes_out'
// One statement for all filters: a filter that is not given is null. Rows are in the order of the primary key.
const select = sql(
  'metering.usage',
  `SELECT ${COLUMNS} FROM metering_usage WHERE day >= ? AND day <= ? AND (CAST(? AS text) IS NULL OR client = ?) AND (CAST(? AS text) IS NULL OR class = ?) AND (day, client, class) > (?, ?, ?) ORDER BY day, client, class LIMIT ?`,
)

const readDay = (name: string, text: string | undefined): string | undefined => {
  if (text === undefined) return undefined
  const at = /^\d{4}-\d\d-\d\d$/.test(text) ? new Date(`${text}T00:00:00Z`) : undefined
  if (at === undefined || Number.isNaN(at.getTime()) || at.toISOString().slice(0, 10) !== text)
    throw AdminParameter(name, 'a day such as 2026-11-21, in UTC')
  return text
}

type Format = 'json' | 'csv'
const FORMATS: ReadonlyMap<string, Format> = new Map([
  ['json', 'json'],
  ['application/json', 'json'],
  ['*/*', 'json'],
  ['application/*', 'json'],
  ['csv', 'csv'],
  ['text/csv', 'csv'],
  ['text/*', 'csv'],
])

/** `_format` wins over Accept. Throws 406. */
const readFormat = (accept: string | undefined, format: string | undefined): Format => {
  const asked = format ?? (accept?.trim() || 'json')
  for (const part of asked.split(',')) {
    const found = FORMATS.get((part.split(';')[0] ?? '').trim().toLowerCase())
    if (found !== undefined) return found
  }
  throw AdminFormat('application/json, text/csv')
}

/** The client's name, or null for all callers without a token. */
const toJson = ({ client, ...row }: UsageRow) => ({ client: client === '' ? null : client, ...row })

export const usageEndpoint =
  ({ database, run, flush }: UsageParts): FastifyPluginCallback =>
  (app, _options, done) => {
    mountAdmin(app, run, {
      summary: 'Usage per client, UTC day and class of request.',
      query: PARAMETERS,
      path: '/_usage',
      beforeRelay: flush,
      async answer(request) {
        const query = readAdminQuery(request, PARAMETERS)
        const format = readFormat(request.headers.accept, query.get('_format'))
        const count = readAdminNumber(query, '_count', 1, MAX_PAGE) ?? PAGE
        const client = query.get('client') ?? null
        const requestClass = readAdminClass(query) ?? null
        const from = readDay('from', query.get('from')) ?? ''
        const to = readDay('to', query.get('to')) ?? '9999-12-31'
        const after = readPageToken(query.get('_page'))
        await flush()
        const params: SqlParam[] = [from, to, client, client, requestClass, requestClass, ...after, count + 1]
        const rows = await database.longQuery<UsageRow>(select, params, request.signal)
        const page = rows.slice(0, count)
        const last = rows.length > count ? page.at(-1) : undefined
        const next = last && linkWith(request, '_page', pageTokenOf([last.day, last.client, last.class]))
        if (format === 'csv')
          return {
            type: 'text/csv; charset=utf-8; header=present',
            body: toCsv(page),
            ...(next !== undefined && { headers: { link: `<${next}>; rel="next"` } }),
          }
        return { type: 'application/json; charset=utf-8', body: JSON.stringify({ usage: page.map(toJson), next }) }
      },
    })
    done()
  }
