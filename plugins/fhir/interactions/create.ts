/**
 * create: the server assigns the id. With If-None-Exist it creates only when nothing matches.
 * https://hl7.org/fhir/R4/http.html#create, https://hl7.org/fhir/R4/http.html#ccreate
 */

import type { Clock, Random, RequestContext } from '../../../kernel/index.ts'
import { type TypeCatalog, typeOf } from '../../model/service.ts'
import { Contended, newId } from '../../storage/service.ts'
import { HeaderMalformed } from '../errors.ts'
import { checkAccept } from '../http/media.ts'
import { readPrefer, readQueryParameters } from '../presentation/presentation-parameters.ts'
import { refusePrecondition } from '../response/etag.ts'
import type { View } from '../view.ts'
import { changedAnswer } from './answer.ts'
import type { AddressChange, ChangeTarget, PreparedChange } from './change.ts'
import { type CheckContent, warningsList } from './check-content.ts'
import { locateMatch } from './conditional.ts'
import { readIncomingResource } from './incoming-resource.ts'
import { type InteractionRequest, interactionOf } from './request.ts'

/** `identifier=x`, also as `?identifier=x`, `Patient?identifier=x`, and, as HAPI FHIR's client sends it, behind the base URL. */
const readNoneExist = (
  header: string | string[] | undefined,
  type: string,
  { baseUrl }: Pick<RequestContext, 'baseUrl'>,
): string | undefined => {
  if (header === undefined) return undefined
  if (Array.isArray(header)) throw HeaderMalformed('If-None-Exist', 'identifier=http://example.org|1, once')
  const start = header.indexOf('?')
  const path = header.slice(0, start)
  return start === 0 || path === type || path === `${baseUrl}/${type}` ? header.slice(start + 1) : header
}

/** Some clients send a file name with raw content. A Binary has no element for it, so it is accepted and ignored. */
const BINARY_ONLY = ['_filename']

export interface CreateParts {
  readonly catalog: Pick<TypeCatalog, 'types'>
  readonly clock: Clock
  readonly random: Random
  readonly checkContent: CheckContent
}

/** Locates a create with If-None-Exist. */
const locateExisting = async (
  parts: CreateParts,
  view: View,
  request: InteractionRequest,
  type: string,
  condition: string,
): Promise<ChangeTarget> => {
  const { found, verify, confirm } = await locateMatch(view, request, type, condition)
  if (found === undefined) return { id: newId(parts), verify, confirm }
  return {
    id: found.id,
    found,
    async verify(here, transaction) {
      await verify(here, transaction)
      // The version that was found is the answer: in a transaction it has to be the current one.
      if ((await here.reads.read(type, found.id))?.version !== found.version) throw Contended()
    },
  }
}

export const create =
  (parts: CreateParts): AddressChange =>
  (view, request) => {
    const { catalog, checkContent } = parts
    const { params, headers, url, ctx } = request
    const type = typeOf(parts, params.type)
    const prefer = readPrefer(headers.prefer)
    const { presentation } = readQueryParameters(url, type.name === 'Binary' ? BINARY_ONLY : [], prefer.lenient)
    checkAccept(headers.accept, presentation.format)
    refusePrecondition(headers)
    const noneExist = readNoneExist(headers['if-none-exist'], type.name, ctx)
    const interaction = interactionOf(request, { kind: 'create', type: type.name })
    return {
      interaction,
      locate: () =>
        noneExist === undefined ? { id: newId(parts) } : locateExisting(parts, view, request, type.name, noneExist),
      prepare(guard, { id, found }, body) {
        // R4: when the condition matches, the body is ignored.
        if (found !== undefined)
          return { settled: { ...changedAnswer(200, found, type, guard, prefer, presentation), isMatch: true } }
        const content = readIncomingResource(catalog, body, type.name)
        const warnings = warningsList(prefer)
        const examined = checkContent(ctx, interaction, content, { guard, id, warnings })
        const { resource, template, sent } = content
        const prepared: PreparedChange = {
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
