/** What an operation wants changed → changes of the one write path. */
import type { Interaction, RequestContext, Ruling } from '../../../kernel/index.ts'
import { readIncoming } from '../incoming.ts'
import { examine } from '../interactions/examine.ts'
import { toRevision } from '../interactions/revise.ts'
import { type FhirServer, typeOf } from '../server.ts'
import type { Change, Changed } from '../store/change.ts'
import { newId } from '../store/new-id.ts'
import type { OperationChange, OperationChanged } from './operation.ts'

/** Read, examined and with its permit. Throws 4xx. */
export const toChange = async (
  server: FhirServer,
  request: RequestContext,
  ruling: Ruling,
  invoked: Interaction,
  wanted: OperationChange,
): Promise<Change> => {
  const type = typeOf(server, wanted.type).name
  const id = wanted.kind === 'create' ? newId(server) : wanted.id
  const interaction: Interaction = { ...invoked, type, id }
  server.owned.check(type)
  const permit = await server.judge.permit(request, ruling, type)
  if (wanted.kind === 'delete') return { kind: 'delete', interaction, type, id, permit }
  if (wanted.kind === 'revise')
    return toRevision(server, { request, interaction, type, id, permit, revise: wanted.revise })
  const given = wanted.kind === 'update' ? id : undefined
  const content = readIncoming(server, Buffer.from(wanted.json), type, given, true)
  await examine(server, request, interaction, content)
  return { kind: wanted.kind, interaction, type, id, permit, ...content }
}

export const toOperationChanged = ({ version }: Changed): OperationChanged => ({
  type: version.type,
  id: version.id,
  version: version.version,
  get json() {
    return version.deleted ? undefined : version.text
  },
})
