/**
 * create: the server gives the id. With If-None-Exist only when nothing matches.
 * https://hl7.org/fhir/R4/http.html#create, https://hl7.org/fhir/R4/http.html#ccreate
 */

import { typeOf } from '../../model/service.ts'
import { newId } from '../../storage/service.ts'
import { HeaderMalformed } from '../errors.ts'
import { checkAccept } from '../http/media.ts'
import type { FhirServer } from '../parts.ts'
import { readPrefer, readQuery } from '../presentation/presentation-parameters.ts'
import { changedAnswer } from './answer.ts'
import type { AddressChange, Prepared, Target } from './change.ts'
import { examine, warningsFor } from './check-content.ts'
import { locateMatch } from './conditional.ts'
import { readIncoming } from './incoming.ts'
import { type Asked, interactionOf } from './request.ts'

/** `identifier=x`, also as `?identifier=x` and `Patient?identifier=x`. */
const readNoneExist = (header: string | string[] | undefined, type: string): string | undefined => {
  if (header === undefined) return undefined
  if (Array.isArray(header)) throw HeaderMalformed('If-None-Exist', 'identifier=http://example.org|1, once')
  const start = header.indexOf('?')
  return start === 0 || header.slice(0, start) === type ? header.slice(start + 1) : header
}

/** With a condition. */
const locateExisting = async (server: FhirServer, asked: Asked, type: string, condition: string): Promise<Target> => {
  const { found, verify, confirm } = await locateMatch(server, asked, type, condition)
  return { id: found?.id ?? newId(server), found, verify, confirm: found === undefined ? confirm : undefined }
}

export const create: AddressChange = (server, asked) => {
  const { params, headers, url, ctx } = asked
  const type = typeOf(server, params.type)
  const prefer = readPrefer(headers.prefer)
  const { presentation } = readQuery(url, [], prefer.lenient)
  checkAccept(headers.accept, presentation.format)
  const noneExist = readNoneExist(headers['if-none-exist'], type.name)
  const interaction = interactionOf(asked, { kind: 'create', type: type.name })
  return {
    interaction,
    locate: () =>
      noneExist === undefined ? { id: newId(server) } : locateExisting(server, asked, type.name, noneExist),
    prepare(guard, { id, found }, body) {
      // A match answers whatever was sent: R4 ignores the body then.
      if (found !== undefined)
        return { settled: { ...changedAnswer(200, found, type, guard, prefer, presentation), isMatch: true } }
      const content = readIncoming(server, body, type.name)
      const warnings = warningsFor(prefer)
      const examined = examine(server, ctx, interaction, content, { guard, id, warnings })
      const { resource, template, sent } = content
      const prepared: Prepared = {
        change: {
          kind: 'create',
          interaction: { ...interaction, id },
          type: type.name,
          guard,
          id,
          resource,
          template,
          sent,
        },
        answer: ({ version }) => changedAnswer(201, version, type, guard, prefer, presentation, warnings),
      }
      return examined === undefined ? prepared : examined.then(() => prepared)
    },
  }
}
