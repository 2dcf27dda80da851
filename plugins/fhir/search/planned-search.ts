/** A search that is not a fast search: it is planned and performed, and its result shown as a searchset. */
import { isUtf8 } from 'node:buffer'
import type { Clock, Random, Ruling } from '../../../kernel/index.ts'
import { NotUtf8, type TypeCatalog } from '../../model/service.ts'
import type { SearchScope, Shown } from '../../search/service.ts'
import { readSearch } from '../../search/service.ts'
import type { AuditDetails } from '../audit-details.ts'
import { checkAccept } from '../http/media.ts'
import { queryOf } from '../interactions/query-of.ts'
import type { InteractionRequest } from '../interactions/request.ts'
import type { PrepareVersions } from '../large/prepare-versions.ts'
import { entryPresentation, indentedBundle } from '../presentation/indented-bundle.ts'
import { type Presentation, readPairs, readPrefer, toPresentation } from '../presentation/presentation-parameters.ts'
import { withKnownElements } from '../presentation/requested-elements.ts'
import type { View } from '../view.ts'
import { toSearchset } from './searchset.ts'
import type { SearchsetPage } from './searchset-page.ts'

/**
 * The parameters of the query, then those of the form. Parameters without a value are ignored, because forms send empty
 * fields.
 */
const searchParametersOf = ({ url, body }: InteractionRequest): readonly (readonly [string, string])[] => {
  if (body instanceof Uint8Array && !isUtf8(body)) throw NotUtf8()
  const form = body instanceof Uint8Array ? readPairs(Buffer.from(body).toString('utf8')) : []
  // An empty `_page` is kept and refused later. Ignoring it would start again at the first page.
  return [...readPairs(queryOf(url)), ...form].filter(([name, value]) => value !== '' || name === '_page')
}

/** The presentation as parameters, for the links of the page. */
const toParameters = ({ summary, elements, format, pretty }: Presentation): readonly (readonly [string, string])[] => {
  const all = [
    ['_summary', summary],
    ['_elements', elements?.join(',')],
    ['_format', format],
    ['_pretty', pretty ? 'true' : undefined],
  ] as const
  return all.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]))
}

export interface SearchPageParts {
  readonly catalog: Pick<TypeCatalog, 'types'>
  readonly clock: Clock
  readonly random: Random
  readonly audit: Pick<AuditDetails, 'patientsLater'>
  readonly prepareVersions: PrepareVersions
}

/** Throws 400, 403, 406. */
export const searchPage = async (
  { random, clock, catalog, audit, prepareVersions }: SearchPageParts,
  view: View,
  asked: InteractionRequest,
  scope: SearchScope,
  ruling: Ruling,
): Promise<SearchsetPage> => {
  const { ctx, headers } = asked
  const request = readSearch(searchParametersOf(asked), scope.type === undefined)
  let presentation = toPresentation(request.handedOn)
  const { lenient } = readPrefer(headers.prefer)
  checkAccept(headers.accept, presentation.format)
  const shown: Shown = {
    countOnly: presentation.summary === 'count',
    settle(types, where, refuse) {
      const described = types.flatMap((type) => catalog.types.get(type) ?? [])
      presentation = withKnownElements(presentation, described, where, (name, error) =>
        refuse(`_elements=${name}`, error),
      )
      return toParameters(presentation)
    },
  }
  const { entries, total, links, issues } = await view.search.page({
    context: ctx,
    scope,
    request,
    ruling,
    lenient,
    shown,
    beside: true,
  })
  const versions = entries.map(({ version }) => version)
  const ofEntries = entryPresentation(presentation)
  await prepareVersions(view, ctx, versions, ofEntries)
  const compact = toSearchset({
    id: random.id(),
    lastUpdated: new Date(clock.now()).toISOString(),
    baseUrl: ctx.baseUrl,
    total,
    links: links.map(({ relation, address }) => ({ relation, url: ctx.baseUrl + address })),
    entries,
    issues,
    presentation: ofEntries,
    types: catalog.types,
  })
  const text = await indentedBundle(presentation, compact)
  return { text, patients: audit.patientsLater(versions, ctx.ownUrl) }
}
