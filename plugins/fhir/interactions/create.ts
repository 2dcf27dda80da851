/** create: the server gives the id. https://hl7.org/fhir/R4/http.html#create */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { change } from '../dispatch.ts'
import { readIncoming } from '../incoming.ts'
import { checkAccept } from '../media.ts'
import { readPrefer, readQuery } from '../query.ts'
import { sendChanged } from '../respond.ts'
import { type FhirServer, typeOf } from '../server.ts'
import { newId } from '../store/new-id.ts'

export const create = async (
  server: FhirServer,
  request: FastifyRequest<{ Params: { type: string } }>,
  reply: FastifyReply,
): Promise<FastifyReply> => {
  const { ctx, params, headers } = request
  const type = typeOf(server, params.type)
  const prefer = readPrefer(headers.prefer)
  const { presentation } = readQuery(request.raw.url ?? '', [], prefer.lenient)
  checkAccept(headers.accept, presentation.format)
  const interaction = { kind: 'create', type: type.name } as const
  return change(server.run, ctx, interaction, async (ruling) => {
    const { resource, template } = readIncoming(server, request.body, type.name)
    const id = newId(server)
    const permit = await server.judge.permit(ctx, ruling, type.name)
    const changed = await server.store.database.transact((transaction) =>
      server.write.write(ctx, transaction, {
        kind: 'create',
        interaction: { ...interaction, id },
        type: type.name,
        permit,
        id,
        resource,
        template,
      }),
    )
    server.write.committed(ctx, [changed])
    return sendChanged(request, reply, changed.version, type, 201, prefer, presentation)
  })
}
