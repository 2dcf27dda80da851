/** update: a new version under the client's id. https://hl7.org/fhir/R4/http.html#update */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { change } from '../dispatch.ts'
import { NotFound } from '../errors.ts'
import { readIncoming } from '../incoming.ts'
import { checkAccept } from '../media.ts'
import { readPrecondition } from '../precondition.ts'
import { readPrefer, readQuery } from '../query.ts'
import { sendChanged } from '../respond.ts'
import { type FhirServer, isId, typeOf } from '../server.ts'

export const update = async (
  server: FhirServer,
  request: FastifyRequest<{ Params: { type: string; id: string } }>,
  reply: FastifyReply,
): Promise<FastifyReply> => {
  const { ctx, params, headers } = request
  const { id } = params
  const type = typeOf(server, params.type)
  if (!isId(id)) throw NotFound(type.name, id.slice(0, 64))
  const prefer = readPrefer(headers.prefer)
  const { presentation } = readQuery(request.raw.url ?? '', [], prefer.lenient)
  checkAccept(headers.accept, presentation.format)
  const precondition = readPrecondition(headers)
  const interaction = { kind: 'update', type: type.name, id } as const
  return change(server.run, ctx, interaction, async (ruling) => {
    const { resource, template } = readIncoming(server, request.body, type.name, id)
    const permit = await server.judge.permit(ctx, ruling, type.name)
    const changed = await server.store.database.transact((transaction) =>
      server.write.write(ctx, transaction, {
        kind: 'update',
        interaction,
        type: type.name,
        permit,
        id,
        resource,
        template,
        ...(precondition === undefined ? {} : { precondition }),
      }),
    )
    server.write.committed(ctx, [changed])
    return sendChanged(request, reply, changed.version, type, changed.created ? 201 : 200, prefer, presentation)
  })
}
