/** A search of a usual shape, answered in the turn it arrived in: see search/usual. */
import type { RequestContext, Ruling } from '../../../kernel/index.ts'
import { andThen, type Eventually } from '../../database/service.ts'
import { checkAccept } from '../media.ts'
import { AS_STORED } from '../query.ts'
import { toSearchSet } from '../search/bundle.ts'
import { sealPage } from '../search/page-token.ts'
import { readUsualQuery } from '../search/usual/query.ts'
import type { FhirServer } from '../server.ts'
import type { StoredVersion } from '../store/version.ts'
import type { Asked } from './asked.ts'
import type { FoundPage } from './found-page.ts'
import { queryOf } from './query-of.ts'

/** Undefined, at once or later, for a search that has to be understood first; the ruling is applied there, too. */
export const findUsual = (
  server: FhirServer,
  asked: Asked,
  type: string | undefined,
  ruling: Ruling,
): Eventually<FoundPage | undefined> => {
  const { usual } = server.search
  const { ctx, headers, url, body } = asked
  if (usual === undefined || type === undefined || ruling.restrictions.length > 0) return undefined
  if (body instanceof Uint8Array) return undefined
  const { baseUrl } = ctx
  const toPage = (found: readonly StoredVersion[] | undefined, text: string, count: number): FoundPage | undefined => {
    if (found === undefined) return undefined
    checkAccept(headers.accept, undefined)
    return pageOf(server, ctx, `/${type}?${text}&_count=${count}`, found, count)
  }
  const kept = usual.kept(url, type, baseUrl)
  if (kept !== undefined) return andThen(usual.versions(kept), (found) => toPage(found, kept.text, kept.count))
  const query = readUsualQuery(queryOf(url))
  if (query === undefined) return undefined
  const { page } = server
  const count = Math.min(query.count ?? page.usual, page.most)
  return andThen(usual.find({ url, type, baseUrl, query, count }), (found) => toPage(found, query.text, count))
}

/** `bound`: path and parameters, as links repeat them. */
const pageOf = (
  { search: { registry }, catalog, clock, random }: FhirServer,
  { baseUrl, caller }: RequestContext,
  bound: string,
  found: readonly StoredVersion[],
  count: number,
): FoundPage => {
  const isLast = found.length <= count
  const versions = isLast ? found : found.slice(0, count)
  const links = [{ relation: 'self', url: baseUrl + bound }]
  if (!isLast) {
    // Pages go on below the last rid shown: nothing newer than the first one can come.
    const position = {
      pin: (versions[0] as StoredVersion).rid,
      rid: (versions.at(-1) as StoredVersion).rid,
      keys: [],
    }
    const token = sealPage(registry.key, clock, caller, bound, position)
    links.push({ relation: 'next', url: `${baseUrl}${bound}&_page=${token}` })
  }
  const text = toSearchSet({
    id: random.id(),
    lastUpdated: new Date(clock.now()).toISOString(),
    baseUrl,
    total: undefined,
    links,
    entries: versions.map((version) => ({ version, mode: 'match' })),
    issues: [],
    presentation: AS_STORED,
    types: catalog.types,
  })
  return { text, length: bytesOf(text, baseUrl, versions), versions }
}

const ASCII = /^[\x20-\x7e]*$/

/** Counted by the resources, whose bytes are known: around them all is ASCII, where the address of the server is. */
const bytesOf = (text: string, baseUrl: string, versions: readonly StoredVersion[]): number | undefined => {
  if (!ASCII.test(baseUrl)) return undefined
  let beyond = 0
  for (const version of versions) beyond += version.length - version.text.length
  return text.length + beyond
}
