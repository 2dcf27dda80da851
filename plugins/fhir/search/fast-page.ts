/** The page of a fast search: its entries, which may be cached, and the head, which is made for each answer. */
import type { Clock, Random, RequestContext, Runners } from '../../../kernel/index.ts'
import type { TypeCatalog } from '../../model/service.ts'
import type { CachedEntries, FastPage } from '../../search/service.ts'
import type { StoredVersion } from '../../storage/service.ts'
import type { AuditDetails } from '../audit-details.ts'
import { AS_STORED } from '../presentation/presentation-parameters.ts'
import { searchsetHead, searchsetTail } from './searchset.ts'
import type { SearchsetPage } from './searchset-page.ts'

export interface FastPageParts {
  readonly catalog: Pick<TypeCatalog, 'types'>
  readonly clock: Clock
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
  return { text, length, patients: audit.patientsLater(versions, ownUrl) }
}

/** The same entries for the cache, which is valid until one of them changes. */
export const toCacheEntry = (run: Pick<Runners, 'onAudit'>, { text, patients }: CachedEntries): CachedEntries => {
  const known = run.onAudit === null ? [] : patients()
  // Computing the length flattens the string, which otherwise keeps each resource's text in memory.
  return { text, length: Buffer.byteLength(text), patients: () => known }
}

export const toPage = (
  { clock, random }: FastPageParts,
  { baseUrl }: RequestContext,
  { entries: { text, length, patients }, address, total, next }: FastPage,
): SearchsetPage => {
  const links = [{ relation: 'self', url: baseUrl + address }]
  if (next !== undefined) links.push({ relation: 'next', url: `${baseUrl}${address}&_page=${next()}` })
  const head = searchsetHead({ id: random.id(), lastUpdated: new Date(clock.now()).toISOString(), total, links })
  return { text: head + text, length: Buffer.byteLength(head) + length, patients }
}
