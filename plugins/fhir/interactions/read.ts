/** read and vread. https://hl7.org/fhir/R4/http.html#read */
import type { Ruling, ServerError } from '../../../kernel/index.ts'
import { chain, type MaybePromise } from '../../database/service.ts'
import { isResourceId, type TypeCatalog, typeOf } from '../../model/service.ts'
import type { StoredVersion } from '../../storage/service.ts'
import { Deleted, NotFound, VersionDeleted, VersionNotFound } from '../../storage/service.ts'
import { checkAccept } from '../http/media.ts'
import type { LargeBodies } from '../large/large-bodies.ts'
import type { PrepareVersions } from '../large/prepare-versions.ts'
import { isTransformed } from '../presentation/present.ts'
import { readPrefer, readQueryParameters } from '../presentation/presentation-parameters.ts'
import { readBinaryContent } from '../response/binary-content.ts'
import { isUnchanged, toETag } from '../response/etag.ts'
import type { View } from '../view.ts'
import type { Answer } from './answer.ts'
import { presentationOf } from './presentation-of.ts'
import type { AddressRead } from './read-interaction.ts'
import { type InteractionRequest, interactionOf } from './request.ts'

const VERSION = /^[1-9]\d{0,9}$/

/** The number of a version for the audit trail; undefined for text that cannot be one. */
const toNumber = (version: string | undefined): number | undefined =>
  version !== undefined && VERSION.test(version) ? Number(version) : undefined

const readPast = async (
  { reads }: View,
  type: string,
  id: string,
  number: string,
): Promise<StoredVersion | undefined> =>
  isResourceId(id) && VERSION.test(number) ? reads.vread(type, id, Number(number)) : undefined

const readStored = (
  view: View,
  type: string,
  id: string,
  number: string | undefined,
): MaybePromise<StoredVersion | undefined> => {
  if (number !== undefined) return readPast(view, type, id, number)
  return isResourceId(id) ? view.reads.read(type, id) : undefined
}

const notFound = ({ params: { id = '', version } }: InteractionRequest, type: string): ServerError =>
  version === undefined ? NotFound(type, id.slice(0, 64)) : VersionNotFound(version.slice(0, 20), type, id.slice(0, 64))

/** Throws 404 and 410. */
const checkFound = (request: InteractionRequest, type: string, found: StoredVersion | undefined): StoredVersion => {
  const { id = '', version: number } = request.params
  if (found === undefined) throw notFound(request, type)
  if (!found.deleted) return found
  throw number === undefined
    ? Deleted(type, id).with({ headers: { etag: toETag(found.version) } })
    : VersionDeleted(number, type, id)
}

/** The version to answer with. Throws 404 and 410. A hidden version is 404, like one that does not exist. */
const find = (view: View, request: InteractionRequest, type: string, ruling: Ruling): MaybePromise<StoredVersion> => {
  const { id = '', version: number } = request.params
  const held = request.current ?? readStored(view, type, id, number)
  return chain(held, (version) => {
    if (version === undefined || ruling.restrictions.length === 0) return checkFound(request, type, version)
    const { access } = view
    const { ctx } = request
    const seen: MaybePromise<StoredVersion | undefined> =
      number === undefined
        ? access.readable(ctx, ruling, version)
        : chain(access.allows(ctx, ruling, 'r', version), (isAllowed) => (isAllowed ? version : undefined))
    return chain(seen, (shown) => {
      if (shown !== undefined) return checkFound(request, type, shown)
      throw notFound(request, type).with({ hidden: true })
    })
  })
}

export interface ReadParts {
  readonly catalog: Pick<TypeCatalog, 'types'>
  readonly large: Pick<LargeBodies, 'concernsVersion'>
  readonly prepareVersions: PrepareVersions
}

export const read =
  (kind: 'read' | 'vread', parts: ReadParts): AddressRead =>
  (_view, request) => {
    const { ctx, params, headers, url, entry } = request
    const type = typeOf(parts, params.type)
    const { lenient } = readPrefer(headers.prefer)
    const presentation = presentationOf(readQueryParameters(url, [], lenient).presentation, type, lenient)
    const { accept } = headers
    // A Binary is shown as a resource in a Bundle, and when the query requests a form of the resource.
    const mayBeContent =
      type.name === 'Binary' && entry === undefined && presentation.format === undefined && !isTransformed(presentation)
    if (!mayBeContent) checkAccept(accept, presentation.format)
    const { id, version } = params
    const asResource = (here: View, found: StoredVersion): MaybePromise<Answer> => {
      const resource: Answer = { status: 200, version: found, shows: 'version', type, presentation }
      if (!parts.large.concernsVersion(found)) return resource
      return chain(parts.prepareVersions(here, ctx, [found], presentation), () => resource)
    }
    const toAnswer = (here: View, found: StoredVersion): MaybePromise<Answer> => {
      if (isUnchanged(headers, found)) return { status: 304, version: found, shows: 'nothing' }
      if (!mayBeContent) return asResource(here, found)
      return chain(readBinaryContent(found, accept), (content) =>
        content === undefined
          ? asResource(here, found)
          : { status: 200, version: found, shows: 'content' as const, content },
      )
    }
    return {
      interaction: interactionOf(request, { kind, type: type.name, id, version: toNumber(version) }),
      answer: (here, ruling) => chain(find(here, request, type.name, ruling), (found) => toAnswer(here, found)),
    }
  }
