/** history of an instance, a type and the whole server. https://hl7.org/fhir/R4/http.html#history */
import type { RequestContext, Ruling } from '../../../kernel/index.ts'
import { NotFound, ParameterValue } from '../errors.ts'
import { readSpan } from '../instant.ts'
import { checkAccept } from '../media.ts'
import { patientsIn, withDetails } from '../patients.ts'
import { toETag } from '../precondition.ts'
import { needsWork, present } from '../present.ts'
import { type Presentation, readPrefer, readQuery } from '../query.ts'
import { type FhirServer, isId, typeOf, urlOf } from '../server.ts'
import type { HistoryPage, HistoryQuery } from '../store/history.ts'
import type { StoredVersion } from '../store/version.ts'
import { interactionOf } from './asked.ts'
import type { AddressLook } from './look.ts'
import { queryOf } from './query-of.ts'

const KNOWN = ['_count', '_since', '_at', '_page']
const PAGE_CHARS = 32 * 1024 * 1024 // a page that grows larger ends, whatever _count says: it is made in memory
const PAGE = /^[1-9]\d{0,15}$/
const STATUS = { POST: '201 Created', PUT: '200 OK', PATCH: '200 OK', DELETE: '204 No Content' } as const

const readCount = (value: string | undefined, { usual, most }: FhirServer['page']): number => {
  if (value === undefined) return usual
  if (!/^\d{1,9}$/.test(value) || Number(value) === 0) throw ParameterValue('_count', 'a positive integer')
  return Math.min(Number(value), most)
}

const readMoment = (name: string, value: string | undefined, now: number): { from: number; to: number } | undefined => {
  if (value === undefined) return undefined
  // A plus sign in a URL may arrive as a space; only the zone of an instant has one.
  const span = readSpan(value.replace(' ', '+'))
  if (span === undefined) throw ParameterValue(name, 'a date or instant such as 2024-02-29T12:00:00Z')
  if (span.from > now) throw ParameterValue(name, 'a moment that is not in the future')
  return span
}

const readHistoryQuery = (
  server: FhirServer,
  values: ReadonlyMap<string, string>,
): Omit<HistoryQuery, 'type' | 'id'> => {
  const now = server.clock.now() * 1000
  const page = values.get('_page')
  if (page !== undefined && !PAGE.test(page)) throw ParameterValue('_page', 'what a next link of this server holds')
  return {
    count: readCount(values.get('_count'), server.page),
    since: readMoment('_since', values.get('_since'), now)?.from,
    during: readMoment('_at', values.get('_at'), now),
    before: page === undefined ? undefined : Number(page),
  }
}

const toEntry = (
  server: FhirServer,
  request: RequestContext,
  version: StoredVersion,
  presentation: Presentation,
): string => {
  const { type, id, method } = version
  const stored = version.deleted ? '' : version.text
  const described = server.catalog.types.get(type)
  const shown =
    stored !== '' && described !== undefined && needsWork(presentation)
      ? present(stored, described, presentation)
      : stored
  const resource = shown === '' ? '' : `,"resource":${shown}`
  const url = method === 'POST' ? type : `${type}/${id}`
  // An update that made the resource answered 201.
  const status = version.version === 1 ? STATUS.POST : STATUS[method]
  const lastModified = new Date(version.lastUpdated).toISOString()
  return (
    `{"fullUrl":${JSON.stringify(urlOf(request, type, id))}${resource}` +
    `,"request":{"method":"${method}","url":"${url}"}` +
    `,"response":{"status":"${status}","etag":${JSON.stringify(toETag(version.version))},"lastModified":"${lastModified}"}}`
  )
}

/** Entries until the page is full, one at least; what is left goes to the next page. */
const fill = (
  { versions, next }: HistoryPage,
  toText: (version: StoredVersion) => string,
): { readonly entries: string; readonly next: number | undefined } => {
  const texts: string[] = []
  let chars = 0
  for (const [at, version] of versions.entries()) {
    if (chars > PAGE_CHARS) return { entries: texts.join(','), next: versions[at - 1]?.stamp }
    const text = toText(version)
    chars += text.length
    texts.push(text)
  }
  return { entries: texts.join(','), next }
}

const toLinks = (
  request: RequestContext,
  path: string,
  values: ReadonlyMap<string, string>,
  query: HistoryQuery,
  next: number | undefined,
): string => {
  const link = (relation: string, page: number | undefined): string => {
    const params = new URLSearchParams([...values].filter(([name]) => name !== '_page' && name !== '_count'))
    params.set('_count', String(query.count))
    if (page !== undefined) params.set('_page', String(page))
    return JSON.stringify({ relation, url: `${request.baseUrl}${path}?${params}` })
  }
  return [link('self', query.before), ...(next === undefined ? [] : [link('next', next)])].join(',')
}

const MOST_EXAMINED = 2_000 // versions looked at for one page of somebody who may see only some

const find = async (
  server: FhirServer,
  request: RequestContext,
  query: HistoryQuery,
): Promise<HistoryPage & { total?: number }> => {
  const { type, id } = query
  if (type === undefined || id === undefined) return server.store.history(query, request.signal)
  const current = isId(id) ? await server.store.read(type, id) : undefined
  if (current === undefined) throw NotFound(type, id.slice(0, 64))
  const page = await server.store.history(query, request.signal)
  // Versions are numbered without gaps, so the newest number is the total.
  return query.since === undefined && query.during === undefined ? { ...page, total: current.version } : page
}

/** The same for a caller with a restricted view: each version is judged by what it held. */
const findSeen = async (
  server: FhirServer,
  request: RequestContext,
  ruling: Ruling,
  query: HistoryQuery,
): Promise<HistoryPage> => {
  const { judge, store } = server
  const access = judge.access(request, ruling)
  const versions: StoredVersion[] = []
  let { before } = query
  let examined = 0
  for (;;) {
    const page = await store.history({ ...query, before }, request.signal)
    for (const [at, version] of page.versions.entries()) {
      if (await judge.sees(request, access, version)) versions.push(version)
      const isLast = at === page.versions.length - 1 && page.next === undefined
      if (versions.length === query.count && !isLast) return { versions, next: version.stamp }
    }
    examined += page.versions.length
    before = page.next
    if (before === undefined || examined >= MOST_EXAMINED) break
  }
  // Nothing of it may be seen: then it is not there.
  if (query.id !== undefined && versions.length === 0 && before === undefined && query.before === undefined)
    throw NotFound(query.type as string, query.id.slice(0, 64))
  return { versions, next: before }
}

export const history: AddressLook = (server, asked) => {
  const { ctx, params, headers, url } = asked
  const { type, id } = params
  if (type !== undefined) typeOf(server, type)
  const { presentation, values } = readQuery(url, KNOWN, readPrefer(headers.prefer).lenient)
  checkAccept(headers.accept, presentation.format)
  const query: HistoryQuery = { type, id, ...readHistoryQuery(server, values) }
  const kind = id !== undefined ? 'history-instance' : type !== undefined ? 'history-type' : 'history-system'
  const path = [type, id, '_history']
    .filter((part) => part !== undefined)
    .map((part) => `/${part}`)
    .join('')
  return {
    interaction: interactionOf(asked, { kind, type, id }),
    async answer(here, ruling) {
      const page: HistoryPage & { total?: number } =
        ruling.restrictions.length === 0 ? await find(here, ctx, query) : await findSeen(here, ctx, ruling, query)
      const { total } = page
      const { entries, next } = fill(page, (version) => toEntry(server, ctx, version, presentation))
      const text =
        `{"resourceType":"Bundle","id":"${server.random.id()}","type":"history",${total === undefined ? '' : `"total":${total},`}` +
        `"link":[${toLinks(ctx, path, values, query, next)}]${entries === '' ? '' : `,"entry":[${entries}]`}}`
      const patients = (): readonly string[] => patientsIn(here, page.versions)
      return { status: 200, shows: 'text', text, ...withDetails(here, patients, () => queryOf(url)) }
    },
  }
}
