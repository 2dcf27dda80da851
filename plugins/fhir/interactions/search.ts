/** search, on a type, the whole server or a compartment, by GET and POST. https://hl7.org/fhir/R4/http.html#search */
import type { MaybePromise } from '../../database/service.ts'
import { withAuditDetails } from '../audit-details.ts'
import type { BesideResources } from '../beside.ts'
import { type SearchFastParts, searchFast } from '../search/fast-path.ts'
import { type SearchPageParts, searchPage } from '../search/planned-search.ts'
import type { SearchsetPage } from '../search/searchset-page.ts'
import type { Answer } from './answer.ts'
import { queryIn } from './query-of.ts'
import type { AddressRead } from './read-interaction.ts'
import { interactionOf } from './request.ts'

export const search =
  (parts: SearchFastParts & SearchPageParts & { readonly beside: BesideResources | undefined }): AddressRead =>
  (view, request) => {
    const scope = view.search.scope(request.params)
    const kind = scope.type === undefined ? 'search-system' : 'search-type'
    return {
      interaction: interactionOf(request, { kind, type: scope.type }),
      answer(here, ruling) {
        const toAnswer = ({ text, length, patients }: SearchsetPage): Answer => ({
          status: 200,
          shows: 'text',
          text,
          length,
          ...withAuditDetails(here.run, patients, queryIn(request)),
        })
        const later = async (usual: MaybePromise<SearchsetPage | undefined>): Promise<Answer> =>
          toAnswer((await usual) ?? (await searchPage(parts, here, request, scope, ruling)))
        const type = scope.compartment === undefined ? scope.type : undefined
        const isAlone = type === undefined || parts.beside?.has(type) !== true
        const usual = isAlone ? searchFast(parts, here, request, type, ruling) : undefined
        return usual === undefined || usual instanceof Promise ? later(usual) : toAnswer(usual)
      },
    }
  }
