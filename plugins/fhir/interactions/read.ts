/** read and vread. https://hl7.org/fhir/R4/http.html#read */
import type { Ruling } from '../../../kernel/index.ts'
import { andThen, type Eventually } from '../../database/service.ts'
import { isId, typeOf } from '../../model/service.ts'
import type { StoredVersion } from '../../storage/service.ts'
import { Deleted, NotFound, VersionDeleted, VersionNotFound } from '../../storage/service.ts'
import { checkAccept } from '../http/media.ts'
import { prepareVersions } from '../large/prepare-versions.ts'
import type { FhirServer } from '../parts.ts'
import { needsWork } from '../presentation/present.ts'
import { readPrefer, readQuery } from '../presentation/presentation-parameters.ts'
import { readContent } from '../response/binary-content.ts'
import { isUnchanged, toETag } from '../response/etag.ts'
import type { Answer } from './answer.ts'
import { presentationOf } from './presentation-of.ts'
import type { AddressLook } from './read-interaction.ts'
import { type Asked, interactionOf } from './request.ts'

const VERSION = /^[1-9]\d{0,9}$/

/** A version that is none is told to nobody as a number. */
const toNumber = (version: string | undefined): number | undefined =>
  version !== undefined && VERSION.test(version) ? Number(version) : undefined

const readPast = async (
  { store }: FhirServer,
  type: string,
  id: string,
  number: string,
): Promise<StoredVersion | undefined> =>
  isId(id) && VERSION.test(number) ? store.vread(type, id, Number(number)) : undefined

const look = (
  server: FhirServer,
  type: string,
  id: string,
  number: string | undefined,
): Eventually<StoredVersion | undefined> => {
  if (number !== undefined) return readPast(server, type, id, number)
  return isId(id) ? server.store.read(type, id) : undefined
}

/** Throws 404 and 410. */
const checkFound = ({ params }: Asked, type: string, found: StoredVersion | undefined): StoredVersion => {
  const { id = '', version: number } = params
  if (found === undefined)
    throw number === undefined
      ? NotFound(type, id.slice(0, 64))
      : VersionNotFound(number.slice(0, 20), type, id.slice(0, 64))
  if (!found.deleted) return found
  throw number === undefined
    ? Deleted(type, id).with({ headers: { etag: toETag(found.version) } })
    : VersionDeleted(number, type, id)
}

/** The version to answer with. Throws 404 and 410. What must not be seen is not there. */
const find = (server: FhirServer, asked: Asked, type: string, ruling: Ruling): Eventually<StoredVersion> => {
  const { id = '', version: number } = asked.params
  const held = asked.current ?? look(server, type, id, number)
  return andThen(held, (version) => {
    if (version === undefined || ruling.restrictions.length === 0) return checkFound(asked, type, version)
    const allowed = server.evaluator.allows(asked.ctx, ruling, 'r', version)
    return andThen(allowed, (isAllowed) => checkFound(asked, type, isAllowed ? version : undefined))
  })
}

const address =
  (kind: 'read' | 'vread'): AddressLook =>
  (server, asked) => {
    const { ctx, params, headers, url, entry } = asked
    const type = typeOf(server, params.type)
    const { lenient } = readPrefer(headers.prefer)
    const presentation = presentationOf(readQuery(url, [], lenient).presentation, type, lenient)
    const { accept } = headers
    // In a Bundle a Binary is a resource, and so it is where a form of the resource is asked for.
    const mayBeContent =
      type.name === 'Binary' && entry === undefined && presentation.format === undefined && !needsWork(presentation)
    if (!mayBeContent) checkAccept(accept, presentation.format)
    const { id, version } = params
    const asResource = (here: FhirServer, found: StoredVersion): Eventually<Answer> => {
      const resource: Answer = { status: 200, version: found, shows: 'version', type, presentation }
      const preparing = here.large.concernsVersion(found)
        ? prepareVersions(here, ctx, [found], presentation)
        : undefined
      return andThen(preparing, () => resource)
    }
    const toAnswer = (here: FhirServer, found: StoredVersion): Eventually<Answer> => {
      if (isUnchanged(headers, found)) return { status: 304, version: found, shows: 'nothing' }
      if (!mayBeContent) return asResource(here, found)
      return andThen(readContent(found, accept), (content) =>
        content === undefined
          ? asResource(here, found)
          : { status: 200, version: found, shows: 'content' as const, content },
      )
    }
    return {
      interaction: interactionOf(asked, { kind, type: type.name, id, version: toNumber(version) }),
      answer: (here, ruling) => andThen(find(here, asked, type.name, ruling), (found) => toAnswer(here, found)),
    }
  }

export const read: AddressLook = address('read')
export const vread: AddressLook = address('vread')
