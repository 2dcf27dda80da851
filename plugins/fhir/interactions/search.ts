/** search, on a type, the whole server or a compartment, by GET and POST. https://hl7.org/fhir/R4/http.html#search */
import type { Eventually } from '../../database/service.ts'
import { scopeOf } from '../../search/service.ts'
import { withDetails } from '../audit-details.ts'
import { findUsual } from '../search/fast-path.ts'
import { findPlanned } from '../search/planned-search.ts'
import type { FoundPage } from '../search/searchset-page.ts'
import type { Answer } from './answer.ts'
import { queryOf } from './query-of.ts'
import type { AddressLook } from './read-interaction.ts'
import { type Asked, interactionOf } from './request.ts'

/** As it was sent, in the address and in the form. */
const queryIn = ({ url, body }: Asked): string => {
  const form = body instanceof Uint8Array ? Buffer.from(body).toString('utf8') : ''
  return [queryOf(url), form].filter((part) => part !== '').join('&')
}

export const search: AddressLook = (server, asked) => {
  const scope = scopeOf(server, asked.params)
  const kind = scope.type === undefined ? 'search-system' : 'search-type'
  return {
    interaction: interactionOf(asked, { kind, type: scope.type }),
    answer(here, ruling) {
      const toAnswer = ({ text, length, patients }: FoundPage): Answer => ({
        status: 200,
        shows: 'text',
        text,
        length,
        ...withDetails(here, patients, () => queryIn(asked)),
      })
      const later = async (usual: Eventually<FoundPage | undefined>): Promise<Answer> =>
        toAnswer((await usual) ?? (await findPlanned(here, asked, scope, ruling)))
      const type = scope.compartment === undefined ? scope.type : undefined
      const usual = findUsual(here, asked, type, ruling)
      return usual === undefined || usual instanceof Promise ? later(usual) : toAnswer(usual)
    },
  }
}
