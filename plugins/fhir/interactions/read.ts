/** read and vread. https://hl7.org/fhir/R4/http.html#read */
import type { Ruling } from '../../../kernel/index.ts'
import { andThen, type Eventually } from '../../database/service.ts'
import { readContent } from '../binary.ts'
import { Deleted, NotFound, VersionDeleted, VersionNotFound } from '../errors.ts'
import { checkAccept, takesFhir } from '../media.ts'
import { isUnchanged, toETag } from '../precondition.ts'
import { readPrefer, readQuery } from '../query.ts'
import { type FhirServer, isId, typeOf } from '../server.ts'
import type { StoredVersion } from '../store/version.ts'
import type { Answer } from './answer.ts'
import { type Asked, interactionOf } from './asked.ts'
import type { AddressLook } from './look.ts'

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
  if (ruling.restrictions.length === 0 && !(held instanceof Promise)) return checkFound(asked, type, held)
  return findSeen(server, asked, type, ruling, held)
}

const findSeen = async (
  { judge }: FhirServer,
  asked: Asked,
  type: string,
  ruling: Ruling,
  held: Eventually<StoredVersion | undefined>,
): Promise<StoredVersion> => {
  const version = await held
  const { ctx } = asked
  const seen =
    version !== undefined &&
    (ruling.restrictions.length === 0 || (await judge.sees(ctx, judge.access(ctx, ruling), version)))
  return checkFound(asked, type, seen ? version : undefined)
}

const address =
  (kind: 'read' | 'vread'): AddressLook =>
  (server, asked) => {
    const { params, headers, url } = asked
    const type = typeOf(server, params.type)
    const { presentation } = readQuery(url, [], readPrefer(headers.prefer).lenient)
    const { accept } = headers
    const asContent = type.name === 'Binary' && presentation.format === undefined && !takesFhir(accept)
    if (!asContent) checkAccept(accept, presentation.format)
    const { id, version } = params
    const toAnswer = (found: StoredVersion): Answer => {
      if (isUnchanged(headers, found)) return { status: 304, version: found, shows: 'nothing' }
      if (!asContent) return { status: 200, version: found, shows: 'version', type, presentation }
      return { status: 200, version: found, shows: 'content', content: readContent(found, accept ?? '') }
    }
    return {
      interaction: interactionOf(asked, { kind, type: type.name, id, version: toNumber(version) }),
      answer(here, ruling) {
        return andThen(find(here, asked, type.name, ruling), toAnswer)
      },
    }
  }

export const read: AddressLook = address('read')
export const vread: AddressLook = address('vread')
