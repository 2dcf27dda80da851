/**
 * update: stores a new version under the client's id, or of the one resource that matches a condition.
 * https://hl7.org/fhir/R4/http.html#update, https://hl7.org/fhir/R4/http.html#cond-update
 */

import type { Clock, Random } from '../../../kernel/index.ts'
import { isResourceId, type TypeCatalog, typeOf } from '../../model/service.ts'
import { Contended, NotFound, newId, type StoredVersion } from '../../storage/service.ts'
import { ConditionalIdTaken, MethodNotAllowed } from '../errors.ts'
import { checkAccept } from '../http/media.ts'
import { AS_STORED, readPrefer, readQueryParameters } from '../presentation/presentation-parameters.ts'
import { readPrecondition } from '../response/etag.ts'
import { changedAnswer } from './answer.ts'
import type { AddressChange, ChangeTarget, PreparedChange } from './change.ts'
import { type CheckContent, warningsList } from './check-content.ts'
import { checkAnyMatch, type LocatedMatch, locateMatch } from './conditional.ts'
import { parseBody, readIncomingResource } from './incoming-resource.ts'
import { queryOf } from './query-of.ts'
import { interactionOf } from './request.ts'

export interface UpdateParts {
  readonly catalog: Pick<TypeCatalog, 'types'>
  readonly clock: Clock
  readonly random: Random
  readonly checkContent: CheckContent
  /** The setting [conformance] update_as_create. */
  readonly updateAsCreate: boolean
}

/**
 * The target when nothing matches the criteria and the resource has an id. It may be created under this id, but an
 * existing resource is not replaced, because it does not match the criteria: 409. That holds for the version that was
 * locked during the second search. Another version was made since and may match, so the update is retried.
 */
const targetUnder = (type: string, id: string, { verify, confirm }: LocatedMatch): ChangeTarget => {
  let held: StoredVersion | undefined
  return {
    id,
    async verify(here, transaction) {
      held = await verify(here, transaction, id)
    },
    confirm,
    checkReplaced(current) {
      throw current.rid === held?.rid && current.version === held.version ? ConditionalIdTaken(type, id) : Contended()
    },
  }
}

export const update =
  (parts: UpdateParts): AddressChange =>
  (view, request) => {
    const { catalog, checkContent } = parts
    const { params, headers, url, ctx } = request
    const { id } = params
    const type = typeOf(parts, params.type)
    if (id !== undefined && !isResourceId(id)) throw NotFound(type.name, id.slice(0, 64))
    const criteria = id === undefined ? queryOf(url) : undefined
    if (criteria === '') throw MethodNotAllowed('PUT').with({ headers: { allow: 'GET, HEAD, POST' } })
    const prefer = readPrefer(headers.prefer)
    const { presentation } =
      criteria === undefined ? readQueryParameters(url, [], prefer.lenient) : { presentation: AS_STORED }
    checkAccept(headers.accept, presentation.format)
    const precondition = readPrecondition(headers)
    const interaction = interactionOf(request, { kind: 'update', type: type.name, id })
    const locateByCondition = async (body: unknown): Promise<ChangeTarget> => {
      const located = await locateMatch(view, request, type.name, criteria as string)
      const { found, verify, confirm } = located
      checkAnyMatch(type.name, found, precondition)
      const { resource } = parseBody(body)
      const own = typeof resource.id === 'string' && isResourceId(resource.id) ? resource.id : undefined
      if (found !== undefined) return { id: found.id, found, verify }
      return own === undefined ? { id: newId(parts), verify, confirm } : targetUnder(type.name, own, located)
    }
    return {
      interaction,
      locate: (body) => (id === undefined ? locateByCondition(body) : { id }),
      prepare(guard, target, body) {
        const isFound = id === undefined
        const content = readIncomingResource(catalog, body, type.name, target.id, isFound)
        const warnings = warningsList(prefer)
        // Nothing matches and the body has no id: this is a create, also when update_as_create is false.
        const creates = isFound && target.found === undefined && content.resource.id === undefined
        const prepared: PreparedChange = {
          change: {
            kind: creates ? 'create' : 'update',
            mayCreate: view.updateAsCreate ?? parts.updateAsCreate,
            checkReplaced: target.checkReplaced,
            interaction: { ...interaction, id: target.id },
            type: type.name,
            guard,
            precondition,
            id: target.id,
            ...content,
          },
          answer: ({ version, created }) => ({
            ...changedAnswer(created ? 201 : 200, version, type, guard, prefer, presentation, warnings),
            isMatch: isFound,
          }),
        }
        const checked = checkContent(ctx, interaction, content, { guard, id: target.id, warnings })
        return checked === undefined ? prepared : checked.then(() => prepared)
      },
    }
  }
