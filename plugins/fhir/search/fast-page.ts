/** The page of a fast search: its entries, which may be cached, and the opening, which is made for each answer. */
import type { Random, RequestContext, Runners } from '../../../kernel/index.ts'
import type { TypeCatalog } from '../../model/service.ts'
import type { CachedEntries, FastPage } from '../../search/service.ts'
import type { StoredVersion } from '../../storage/service.ts'
import type { AuditDetails } from '../audit-details.ts'
import { AS_STORED } from '../presentation/presentation-parameters.ts'
import { searchsetLinks, searchsetOpening, searchsetTail } from './searchset.ts'
import type { SearchsetPage } from './searchset-page.ts'

export interface FastPageParts {
  readonly catalog: Pick<TypeCatalog, 'types'>
  /** The time of the answer: `2026-11-22T01:30:00.000Z`. */
  readonly instant: () => string
  readonly random: Random
  readonly audit: Pick<AuditDetails, 'patientsLater'>
}

/** The first `count` of the versions as entries of a searchset. */
export const searchsetEntries = (
  { catalog, audit }: FastPageParts,
  { baseUrl, ownUrl }: Pick<RequestContext, 'baseUrl' | 'ownUrl'>,
  found: readonly StoredVersion[],
  count: number,
): CachedEntries => {
  const versions = found.length <= count ? found : found.slice(0, count)
  const { types } = catalog
  const entries = versions.map((version) => ({ version, mode: 'match' as const }))
  const text = searchsetTail({ baseUrl, entries, issues: [], presentation: AS_STORED, types })
  // The length in bytes is computed from the known lengths of the resources: the rest is ASCII, except for the base
  // URL.
  let length = text.length + versions.length * (Buffer.byteLength(baseUrl) - baseUrl.length)
  for (const version of versions) length += version.length - version.text.length
  return { text, length, hasLinks: false, patients: audit.patientsLater(versions, ownUrl) }
}

const linksOf = ({ baseUrl }: Pick<RequestContext, 'baseUrl'>, { address, total, next }: FastPage): string => {
  const links = [{ relation: 'self', url: baseUrl + address }]
  if (next !== undefined) links.push({ relation: 'next', url: `${baseUrl}${address}&_page=${next()}` })
  return searchsetLinks({ total, links })
}

/**
 * The same entries for the cache, which is valid until one of them changes. The links are cached with them, except for that to
 * the next page, whose token is made for each answer.
 */
export const toCacheEntry = (
  run: Pick<Runners, 'onAudit'>,
  ctx: Pick<RequestContext, 'baseUrl'>,
  page: FastPage,
): CachedEntries => {
  const { entries, next } = page
  const known = run.onAudit === null ? [] : entries.patients()
  const hasLinks = next === undefined
  const text = hasLinks ? linksOf(ctx, page) + entries.text : entries.text
  // Computing the length flattens the string, which otherwise keeps each resource's text in memory.
  return { text, length: Buffer.byteLength(text), hasLinks, patients: () => known }
}

export const toPage = (
  { instant, random }: FastPageParts,
  ctx: Pick<RequestContext, 'baseUrl'>,
  page: FastPage,
): SearchsetPage => {
  const { text, length, hasLinks, patients } = page.entries
  const opening = searchsetOpening({ id: random.id(), lastUpdated: instant() })
  if (hasLinks) return { text: opening + text, length: opening.length + length, patients }
  const links = linksOf(ctx, page)
  return { text: opening + links + text, length: opening.length + Buffer.byteLength(links) + length, patients }
}
