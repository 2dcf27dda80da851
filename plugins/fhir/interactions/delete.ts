/**
 * delete: a version without content; deleting again changes nothing. Also of the one resource that matches.
 * https://hl7.org/fhir/R4/http.html#delete
 */
import { NotFound } from '../errors.ts'
import { readPrecondition } from '../precondition.ts'
import { readPrefer, readQuery } from '../query.ts'
import { isId, typeOf } from '../server.ts'
import { interactionOf } from './asked.ts'
import type { AddressChange } from './change.ts'
import { locateMatch } from './conditional.ts'
import { queryOf } from './query-of.ts'

export const remove: AddressChange = (server, asked) => {
  const { params, headers, url } = asked
  const { id } = params
  const type = typeOf(server, params.type)
  if (id !== undefined && !isId(id)) throw NotFound(type.name, id.slice(0, 64))
  const prefer = readPrefer(headers.prefer)
  if (id !== undefined) readQuery(url, [], prefer.lenient)
  const precondition = readPrecondition(headers)
  const interaction = interactionOf(asked, { kind: 'delete', type: type.name, id })
  const told = prefer.return === 'OperationOutcome'
  return {
    interaction,
    async locate() {
      if (id !== undefined) return { id }
      const { found, verify } = await locateMatch(server, asked, type.name, queryOf(url))
      return { id: found?.id ?? '', found, verify }
    },
    prepare(permit, target) {
      // None matches: what was to be gone is not there.
      if (target.id === '') return { settled: { status: 204, shows: 'nothing' } }
      return {
        change: {
          kind: 'delete',
          interaction: { ...interaction, id: target.id },
          type: type.name,
          permit,
          id: target.id,
          precondition,
        },
        answer: ({ version }) =>
          told ? { status: 200, version, shows: 'outcome' } : { status: 204, version, shows: 'nothing' },
      }
    },
  }
}
