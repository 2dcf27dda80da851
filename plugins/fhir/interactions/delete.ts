/** delete: a version without content; deleting again changes nothing. https://hl7.org/fhir/R4/http.html#delete */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { change } from '../dispatch.ts'
import { NotFound } from '../errors.ts'
import { readPrecondition } from '../precondition.ts'
import { readPrefer, readQuery } from '../query.ts'
import { sendDeleted } from '../respond.ts'
import { type FhirServer, isId, typeOf } from '../server.ts'

export const remove = async (
  server: FhirServer,
  request: FastifyRequest<{ Params: { type: string; id: string } }>,
  reply: FastifyReply,
): Promise<FastifyReply> => {
  const { ctx, params, headers } = request
  const { id } = params
  const type = typeOf(server, params.type)
  if (!isId(id)) throw NotFound(type.name, id.slice(0, 64))
  const prefer = readPrefer(headers.prefer)
  readQuery(request.raw.url ?? '', [], prefer.lenient)
  const precondition = readPrecondition(headers)
  const interaction = { kind: 'delete', type: type.name, id } as const
  return change(server.run, ctx, interaction, async (ruling) => {
    const permit = await server.judge.permit(ctx, ruling, type.name)
    const changed = await server.store.database.transact((transaction) =>
      server.write.write(ctx, transaction, {
        kind: 'delete',
        interaction,
        type: type.name,
        permit,
        id,
        ...(precondition === undefined ? {} : { precondition }),
      }),
    )
    server.write.committed(ctx, [changed])
    return sendDeleted(reply, changed.version, prefer)
  })
}
