/** read and vread. https://hl7.org/fhir/R4/http.html#read */
import type { Ruling } from '../../../kernel/index.ts'
import { readContent } from '../binary.ts'
import { Deleted, NotFound, VersionDeleted, VersionNotFound } from '../errors.ts'
import { checkAccept, takesFhir } from '../media.ts'
import { isUnchanged, toETag } from '../precondition.ts'
import { readPrefer, readQuery } from '../query.ts'
import { type FhirServer, isId, typeOf } from '../server.ts'
import type { StoredVersion } from '../store/version.ts'
import { type Asked, interactionOf } from './asked.ts'
import type { AddressLook } from './look.ts'

const VERSION = /^[1-9]\d{0,9}$/

/** A version that is none is told to nobody as a number. */
const toNumber = (version: string | undefined): number | undefined =>
  version !== undefined && VERSION.test(version) ? Number(version) : undefined

const readCurrent = async ({ store }: FhirServer, type: string, id: string): Promise<StoredVersion | undefined> => {
  const held = isId(id) ? store.read(type, id) : undefined
  return held instanceof Promise ? await held : held
}

const readPast = async (
  { store }: FhirServer,
  type: string,
  id: string,
  number: string,
): Promise<StoredVersion | undefined> =>
  isId(id) && VERSION.test(number) ? store.vread(type, id, Number(number)) : undefined

/** The version to answer with. Throws 404 and 410. What must not be seen is not there. */
const find = async (server: FhirServer, { ctx, params }: Asked, type: string, ruling: Ruling) => {
  const { id = '', version: number } = params
  const version = await (number === undefined ? readCurrent(server, type, id) : readPast(server, type, id, number))
  const { judge } = server
  const seen =
    version !== undefined &&
    (ruling.restrictions.length === 0 || (await judge.sees(ctx, judge.access(ctx, ruling), version)))
  if (!seen)
    throw number === undefined
      ? NotFound(type, id.slice(0, 64))
      : VersionNotFound(number.slice(0, 20), type, id.slice(0, 64))
  if (!version.deleted) return version
  throw number === undefined
    ? Deleted(type, id).with({ headers: { etag: toETag(version.version) } })
    : VersionDeleted(number, type, id)
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
    return {
      interaction: interactionOf(asked, { kind, type: type.name, id, version: toNumber(version) }),
      async answer(here, ruling) {
        const found = await find(here, asked, type.name, ruling)
        if (isUnchanged(headers, found)) return { status: 304, version: found, shows: 'nothing' }
        if (!asContent) return { status: 200, version: found, shows: 'version', type, presentation }
        return { status: 200, version: found, shows: 'content', content: readContent(found, accept ?? '') }
      },
    }
  }

export const read: AddressLook = address('read')
export const vread: AddressLook = address('vread')
