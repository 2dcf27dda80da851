/** search, on a type, the whole server or a compartment, by GET and POST. https://hl7.org/fhir/R4/http.html#search */
import type { Ruling } from '../../../kernel/index.ts'
import type { MaybePromise } from '../../database/service.ts'
import type { SearchScope } from '../../search/service.ts'
import { createInstants } from '../../storage/service.ts'
import { detailsOfPage } from '../audit-details.ts'
import type { BesideResources } from '../beside.ts'
import { type SearchFastParts, searchFast } from '../search/fast-path.ts'
import { type SearchPageParts, searchPage } from '../search/planned-search.ts'
import type { SearchsetPage } from '../search/searchset-page.ts'
import type { View } from '../view.ts'
import type { Answer } from './answer.ts'
import { queryIn } from './query-of.ts'
import type { AddressRead } from './read-interaction.ts'
import { type InteractionRequest, interactionOf } from './request.ts'

const toAnswer = ({ run }: View, request: InteractionRequest, { text, length, patients }: SearchsetPage): Answer => ({
  status: 200,
  shows: 'text',
  text,
  length,
  details: detailsOfPage(run, patients, queryIn(request)),
})

/** `fast`: the result of the fast path, which is undefined where the search has to be planned. */
const searchLater = async (
  parts: SearchPageParts,
  view: View,
  request: InteractionRequest,
  scope: SearchScope,
  ruling: Ruling,
  fast: MaybePromise<SearchsetPage | undefined>,
): Promise<Answer> => toAnswer(view, request, (await fast) ?? (await searchPage(parts, view, request, scope, ruling)))

export interface SearchParts extends Omit<SearchFastParts, 'instant'>, SearchPageParts {
  readonly beside: BesideResources | undefined
}

export const search = (parts: SearchParts): AddressRead => {
  const { clock } = parts
  const instantOf = createInstants()
  const fastParts: SearchFastParts = { ...parts, instant: () => instantOf(clock.now()) }
  return (view, request) => {
    const scope = view.search.scope(request.params)
    const kind = scope.type === undefined ? 'search-system' : 'search-type'
    return {
      interaction: interactionOf(request, { kind, type: scope.type }),
      answer(here, ruling) {
        const type = scope.compartment === undefined ? scope.type : undefined
        const isAlone = type === undefined || parts.beside?.has(type) !== true
        const fast = isAlone ? searchFast(fastParts, here, request, type, ruling) : undefined
        return fast === undefined || fast instanceof Promise
          ? searchLater(parts, here, request, scope, ruling, fast)
          : toAnswer(here, request, fast)
      },
    }
  }
}
