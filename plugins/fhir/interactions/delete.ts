/**
 * delete: stores a version without content; deleting again changes nothing. A conditional delete takes the one resource
 * that matches, or all that match if `[conformance] conditional_delete` is "multiple".
 * https://hl7.org/fhir/R4/http.html#delete
 */
import { counted } from '../../../kernel/index.ts'
import { isResourceId, type TypeCatalog, typeOf } from '../../model/service.ts'
import type { Change } from '../../storage/service.ts'
import { NotFound } from '../../storage/service.ts'
import { ManyMatches, TooManyDeleted } from '../errors.ts'
import { readPrefer, readQueryParameters } from '../presentation/presentation-parameters.ts'
import { readPrecondition } from '../response/etag.ts'
import type { AddressChange } from './change.ts'
import { checkAnyMatch, locateMatches } from './conditional.ts'
import { queryOf } from './query-of.ts'
import { interactionOf } from './request.ts'

const MAX_DELETED = 1_000 // by one condition, in one transaction

const countOutcome = (type: string, count: number): string =>
  JSON.stringify({
    resourceType: 'OperationOutcome',
    issue: [
      {
        severity: 'information',
        code: 'informational',
        diagnostics: `${counted(count, 'resource')} of type ${type} ${count === 1 ? 'is' : 'are'} deleted.`,
      },
    ],
  })

export interface DeleteParts {
  readonly catalog: Pick<TypeCatalog, 'types'>
  /** A conditional delete takes all that match. */
  readonly deletesMany: boolean
}

export const deleteResource =
  (parts: DeleteParts): AddressChange =>
  (view, request) => {
    const { params, headers, url } = request
    const { id } = params
    const type = typeOf(parts, params.type)
    if (id !== undefined && !isResourceId(id)) throw NotFound(type.name, id.slice(0, 64))
    const prefer = readPrefer(headers.prefer)
    if (id !== undefined) readQueryParameters(url, [], prefer.lenient)
    const precondition = readPrecondition(headers)
    const interaction = interactionOf(request, { kind: 'delete', type: type.name, id })
    const wantsOutcome = prefer.return === 'OperationOutcome'
    return {
      interaction,
      async locate() {
        if (id !== undefined) return { id }
        const { found, verify } = await locateMatches(view, request, type.name, queryOf(url), MAX_DELETED)
        const [first, ...others] = found
        if (others.length > 0 && !parts.deletesMany) throw ManyMatches(type.name)
        checkAnyMatch(type.name, first, precondition)
        if (found.length > MAX_DELETED) throw TooManyDeleted(type.name, MAX_DELETED)
        return { id: first?.id ?? '', found: first, others: others.map((one) => one.id), verify }
      },
      prepare(guard, { id: one, others = [] }) {
        // No match: there is nothing to delete.
        if (one === '') return { settled: { status: 204, shows: 'nothing' } }
        const toChange = (gone: string): Extract<Change, { kind: 'delete' }> => ({
          kind: 'delete',
          interaction: { ...interaction, id: gone },
          type: type.name,
          guard,
          id: gone,
          precondition,
        })
        if (others.length > 0)
          return {
            changes: [one, ...others].map(toChange),
            answerAll: (changed) =>
              wantsOutcome
                ? { status: 200, shows: 'text', text: countOutcome(type.name, changed.length) }
                : { status: 204, shows: 'nothing' },
          }
        return {
          change: toChange(one),
          answer: ({ version }) =>
            wantsOutcome ? { status: 200, version, shows: 'outcome' } : { status: 204, version, shows: 'nothing' },
        }
      },
    }
  }
