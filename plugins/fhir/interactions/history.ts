/** history of an instance, a type and the whole server. https://hl7.org/fhir/R4/http.html#history */
import type { Clock, Random, RequestContext, Ruling } from '../../../kernel/index.ts'
import { isResourceId, readDateRange, type TypeCatalog, typeOf } from '../../model/service.ts'
import { extent, QueryParameterValue, type Registry, signPageToken, verifyPageToken } from '../../search/service.ts'
import type { HistoryPage, HistoryQuery, StoredVersion } from '../../storage/service.ts'
import { NotFound } from '../../storage/service.ts'
import { type AuditDetails, detailsOfPage } from '../audit-details.ts'
import { checkAccept } from '../http/media.ts'
import type { PrepareVersions } from '../large/prepare-versions.ts'
import { entryPresentation, indentedBundle } from '../presentation/indented-bundle.ts'
import { isTransformed, presentVersion } from '../presentation/present.ts'
import { type Presentation, readPrefer, readQueryParameters } from '../presentation/presentation-parameters.ts'
import { toLinkList } from '../response/bundle-links.ts'
import { toETag } from '../response/etag.ts'
import { urlOf } from '../response/url-of.ts'
import type { View } from '../view.ts'
import { findSeen } from './history-seen.ts'
import { presentationOf } from './presentation-of.ts'
import { queryOf } from './query-of.ts'
import type { AddressRead } from './read-interaction.ts'
import { interactionOf } from './request.ts'

const KNOWN = ['_count', '_since', '_at', '_page']
const PAGE_CHARS = 32 * 1024 * 1024 // characters; a larger page ends early, because it is built in memory
const STATUS = { POST: '201 Created', PUT: '200 OK', PATCH: '200 OK', DELETE: '204 No Content' } as const

export interface HistoryParts {
  readonly catalog: Pick<TypeCatalog, 'types'>
  readonly clock: Clock
  readonly random: Random
  /** Page links are signed with its key. */
  readonly registry: Pick<Registry, 'key'>
  /** Entries of a page when `_count` is not given, and the largest number a page may have. */
  readonly page: { readonly default: number; readonly max: number }
  readonly audit: Pick<AuditDetails, 'patientsLater'>
  readonly prepareVersions: PrepareVersions
}

const readCount = (value: string | undefined, { default: usual, max }: HistoryParts['page']): number => {
  if (value === undefined) return usual
  if (!/^\d{1,9}$/.test(value) || Number(value) === 0) throw QueryParameterValue('_count', 'a positive integer')
  return Math.min(Number(value), max)
}

const readMoment = (name: string, value: string | undefined): { from: number; to: number } | undefined => {
  if (value === undefined) return undefined
  // A plus sign in a URL may arrive as a space; only the zone of an instant has one.
  const span = readDateRange(value.replace(' ', '+'))
  if (span === undefined) throw QueryParameterValue(name, 'a date or instant such as 2024-02-29T12:00:00Z')
  return span
}

/** Throws 400 for a moment in the future, because nobody knows which versions will be current. */
const readPast = (name: string, value: string | undefined, now: number): { from: number; to: number } | undefined => {
  const span = readMoment(name, value)
  if (span !== undefined && span.from > now) throw QueryParameterValue(name, 'a moment that is not in the future')
  return span
}

const readHistoryQuery = (
  { clock, page }: HistoryParts,
  values: ReadonlyMap<string, string>,
): Omit<HistoryQuery, 'type' | 'id' | 'before'> => {
  const now = clock.now() * 1000
  return {
    count: readCount(values.get('_count'), page),
    // `_since` may be in the future, because the clock of the client may be ahead; then the history is empty.
    since: readMoment('_since', values.get('_since'))?.from,
    during: readPast('_at', values.get('_at'), now),
  }
}

const toEntry = (
  { catalog }: HistoryParts,
  request: RequestContext,
  version: StoredVersion,
  presentation: Presentation,
): string => {
  const { type, id, method } = version
  const described = catalog.types.get(type)
  const isWorked = described !== undefined && isTransformed(presentation)
  const shown = version.deleted ? '' : isWorked ? presentVersion(version, described, presentation) : version.text
  const resource = shown === '' ? '' : `,"resource":${shown}`
  const url = method === 'POST' ? type : `${type}/${id}`
  // An update that created the resource was answered with 201.
  const status = version.version === 1 ? STATUS.POST : STATUS[method]
  const lastModified = new Date(version.lastUpdated).toISOString()
  return (
    `{"fullUrl":${JSON.stringify(urlOf(request, type, id))}${resource}` +
    `,"request":{"method":"${method}","url":"${url}"}` +
    `,"response":{"status":"${status}","etag":${JSON.stringify(toETag(version.version))},"lastModified":"${lastModified}"}}`
  )
}

/** Fills a page with entries, at least one; the rest goes to the next page. */
const fill = (
  { versions, next }: HistoryPage,
  toText: (version: StoredVersion) => string,
): { readonly entries: string; readonly next: number | undefined } => {
  const texts: string[] = []
  let chars = 0
  for (const [at, version] of versions.entries()) {
    if (chars > PAGE_CHARS) return { entries: texts.join(','), next: versions[at - 1]?.versionTime }
    const text = toText(version)
    chars += text.length
    texts.push(text)
  }
  return { entries: texts.join(','), next }
}

const find = async (
  { reads }: View,
  request: RequestContext,
  query: HistoryQuery,
): Promise<HistoryPage & { total?: number }> => {
  const { type, id } = query
  if (type === undefined || id === undefined) return reads.history(query, request.signal)
  const current = isResourceId(id) ? await reads.read(type, id) : undefined
  if (current === undefined) throw NotFound(type, id.slice(0, 64))
  const page = await reads.history(query, request.signal)
  if (query.since !== undefined || query.during !== undefined) return page
  // Versions are numbered without gaps, and erased from the first one on.
  return { ...page, total: current.version - (await reads.firstNumber(current)) + 1 }
}

/** The address that a page token is valid for: all parameters except the page. */
const boundOf = (path: string, values: ReadonlyMap<string, string>, { count }: Pick<HistoryQuery, 'count'>): string => {
  const params = new URLSearchParams([...values].filter(([name]) => name !== '_page' && name !== '_count'))
  params.set('_count', String(count))
  return `${path}?${params}`
}

const pageOf = (
  { registry, clock }: HistoryParts,
  { caller }: RequestContext,
  bound: string,
  page: string | undefined,
): number | undefined =>
  page === undefined ? undefined : verifyPageToken(registry.key, clock, caller, bound, page).rid

const linksOf = (
  { registry, clock }: HistoryParts,
  { baseUrl, caller }: RequestContext,
  bound: string,
  given: string | undefined,
  next: number | undefined,
): string => {
  const links = [{ relation: 'self', url: baseUrl + bound + (given === undefined ? '' : `&_page=${given}`) }]
  if (next !== undefined) {
    const page = signPageToken(registry.key, clock, caller, bound, { snapshotKey: 0, rid: next, keys: [] })
    links.push({ relation: 'next', url: `${baseUrl}${bound}&_page=${page}` })
  }
  return toLinkList(links)
}

/** True when the ruling hides nothing of what is requested. */
const isOpen = (ruling: Ruling, type: string | undefined, id: string | undefined): boolean =>
  type === undefined ? ruling.covers(['r', 's']) : extent(ruling, type, id === undefined ? 's' : 'r') === 'all'

/** One page: of all versions, or of those that the caller may see. */
export const findHistory = (
  view: View,
  clock: Clock,
  request: RequestContext,
  ruling: Ruling,
  query: HistoryQuery,
): Promise<HistoryPage & { total?: number }> =>
  isOpen(ruling, query.type, query.id)
    ? find(view, request, query)
    : findSeen({ ...view, clock }, request, ruling, query)

export const history =
  (parts: HistoryParts): AddressRead =>
  (_view, about) => {
    const { ctx, params, headers, url } = about
    const { type, id } = params
    const { lenient } = readPrefer(headers.prefer)
    const { presentation: asked, values } = readQueryParameters(url, KNOWN, lenient)
    const presentation = type === undefined ? asked : presentationOf(asked, typeOf(parts, type), lenient)
    checkAccept(headers.accept, presentation.format)
    const kind = id !== undefined ? 'history-instance' : type !== undefined ? 'history-type' : 'history-system'
    const path = [type, id, '_history']
      .filter((part) => part !== undefined)
      .map((part) => `/${part}`)
      .join('')
    const asks = readHistoryQuery(parts, values)
    const ofEntries = entryPresentation(presentation)
    const bound = boundOf(path, values, asks)
    const given = values.get('_page')
    return {
      interaction: interactionOf(about, { kind, type, id }),
      async answer(here, ruling) {
        const query: HistoryQuery = { type, id, ...asks, before: pageOf(parts, ctx, bound, given) }
        const page = await findHistory(here, parts.clock, ctx, ruling, query)
        await parts.prepareVersions(here, ctx, page.versions, ofEntries)
        const { total } = page
        const { entries, next } = fill(page, (version) => toEntry(parts, ctx, version, ofEntries))
        const compact =
          `{"resourceType":"Bundle","id":"${parts.random.id()}","type":"history",${total === undefined ? '' : `"total":${total},`}` +
          `"link":${linksOf(parts, ctx, bound, given, next)}${entries === '' ? '' : `,"entry":[${entries}]`}}`
        const text = await indentedBundle(presentation, compact)
        const patients = parts.audit.patientsLater(page.versions, ctx.ownUrl)
        return { status: 200, shows: 'text', text, details: detailsOfPage(here.run, patients, queryOf(url)) }
      },
    }
  }
