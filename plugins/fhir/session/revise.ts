/** A change that a plugin makes from the current version. It is a patch whose work is a function. */
import { isServerError } from '../../../kernel/index.ts'
import { isResourceId, type TypeCatalog, typeOf } from '../../model/service.ts'
import { Contended, Deleted, NotFound } from '../../storage/service.ts'
import { NoneMatches } from '../errors.ts'
import type { AddressedChange } from '../interactions/change.ts'
import { checkAnyMatch, locateMatch } from '../interactions/conditional.ts'
import type { ToModification } from '../interactions/modify.ts'
import { queryOf } from '../interactions/query-of.ts'
import { type InteractionRequest, interactionOf } from '../interactions/request.ts'
import { readPrecondition } from '../response/etag.ts'
import type { View } from '../view.ts'

export interface RevisionParts {
  readonly catalog: Pick<TypeCatalog, 'types'>
  readonly toModification: ToModification
}

export const addressRevision = (
  parts: RevisionParts,
  view: View,
  request: InteractionRequest,
  modify: (json: string) => string | undefined,
): AddressedChange => {
  const { ctx, params, headers, url } = request
  const { id } = params
  const { name: type } = typeOf(parts, params.type)
  if (id !== undefined && !isResourceId(id)) throw NotFound(type, id.slice(0, 64))
  const precondition = readPrecondition(headers)
  const interaction = interactionOf(request, { kind: 'patch', type, id })
  return {
    interaction,
    async locate() {
      if (id !== undefined) return { id }
      const { found, verify } = await locateMatch(view, request, type, queryOf(url))
      checkAnyMatch(type, found, precondition)
      if (found === undefined) throw NoneMatches(type)
      return { id: found.id, found, verify }
    },
    async prepare(guard, target) {
      const about = { ...interaction, id: target.id }
      const revision = { request: ctx, interaction: about, type, id: target.id, guard, precondition, modify }
      const change = await parts.toModification(view, revision).catch((error) => {
        // The match was deleted after the search, so the change is retried.
        throw target.found !== undefined && isServerError(error) && error.key === Deleted.key ? Contended() : error
      })
      return { change, answer: ({ version }) => ({ status: 200, version, shows: 'nothing' }) }
    },
  }
}
