/** read and vread. https://hl7.org/fhir/R4/http.html#read */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Ruling } from '../../../kernel/index.ts'
import { readContent } from '../binary.ts'
import { read as interact } from '../dispatch.ts'
import { Deleted, NotFound, VersionDeleted, VersionNotFound } from '../errors.ts'
import { checkAccept, takesFhir } from '../media.ts'
import { isUnchanged } from '../precondition.ts'
import { readPrefer, readQuery } from '../query.ts'
import { sendContent, sendUnchanged, sendVersion } from '../respond.ts'
import { type FhirServer, isId, typeOf } from '../server.ts'
import type { StoredVersion } from '../store/version.ts'

type Addressed = FastifyRequest<{ Params: { type: string; id: string; version?: string } }>

const VERSION = /^[1-9]\d{0,9}$/

/** A version that is none is told to nobody as a number. */
const toNumber = (version: string | undefined): number | undefined =>
  version !== undefined && VERSION.test(version) ? Number(version) : undefined

const current = async ({ store }: FhirServer, type: string, id: string): Promise<StoredVersion> => {
  const held = isId(id) ? store.read(type, id) : undefined
  const version = held instanceof Promise ? await held : held
  if (version === undefined) throw NotFound(type, id.slice(0, 64))
  if (version.deleted) throw Deleted(type, id).with({ headers: { etag: `W/"${version.version}"` } })
  return version
}

const past = async ({ store }: FhirServer, type: string, id: string, number: string): Promise<StoredVersion> => {
  const version = isId(id) && VERSION.test(number) ? await store.vread(type, id, Number(number)) : undefined
  if (version === undefined) throw VersionNotFound(number.slice(0, 20), type, id.slice(0, 64))
  if (version.deleted) throw VersionDeleted(number, type, id)
  return version
}

/** Throws the 404 of what does not exist unless the version may be seen. */
const checkSeen = async (server: FhirServer, { ctx, params }: Addressed, ruling: Ruling): Promise<void> => {
  const { type, id, version: number } = params
  const { store, judge } = server
  const known = isId(id) && (number === undefined || VERSION.test(number))
  const version = !known
    ? undefined
    : await (number === undefined ? store.read(type, id) : store.vread(type, id, Number(number)))
  if (version !== undefined && (await judge.sees(ctx, judge.access(ctx, ruling), version))) return
  throw number === undefined
    ? NotFound(type, id.slice(0, 64))
    : VersionNotFound(number.slice(0, 20), type, id.slice(0, 64))
}

const answer = async (
  server: FhirServer,
  request: Addressed,
  reply: FastifyReply,
  kind: 'read' | 'vread',
  find: () => Promise<StoredVersion>,
): Promise<FastifyReply> => {
  const { type: name, id, version } = request.params
  const type = typeOf(server, name)
  const { presentation } = readQuery(request.raw.url ?? '', [], readPrefer(request.headers.prefer).lenient)
  const { accept } = request.headers
  const asContent = name === 'Binary' && presentation.format === undefined && !takesFhir(accept)
  if (!asContent) checkAccept(accept, presentation.format)
  const interaction = { kind, type: name, id, version: toNumber(version) }
  return interact(server.run, request.ctx, interaction, async (ruling) => {
    if (ruling.restrictions.length > 0) await checkSeen(server, request, ruling)
    const found = await find()
    const unchanged = isUnchanged(request.headers, found)
    const send = (): FastifyReply =>
      asContent
        ? sendContent(reply, found, readContent(found, accept ?? ''))
        : sendVersion(request, reply, found, type, presentation)
    return {
      result: unchanged ? sendUnchanged(reply, found) : send(),
      status: unchanged ? 304 : 200,
      version: found.version,
    }
  })
}

export const read = (server: FhirServer, request: Addressed, reply: FastifyReply): Promise<FastifyReply> =>
  answer(server, request, reply, 'read', () => current(server, request.params.type, request.params.id))

export const vread = (server: FhirServer, request: Addressed, reply: FastifyReply): Promise<FastifyReply> => {
  const { type, id, version = '' } = request.params
  return answer(server, request, reply, 'vread', () => past(server, type, id, version))
}
