/** What an operation wants changed → changes of the one write path. */
import type { Interaction, RequestContext, Ruling } from '../../../kernel/index.ts'
import { typeOf } from '../../model/service.ts'
import type { Change, Changed, ChangeRights } from '../../storage/service.ts'
import { newId } from '../../storage/service.ts'
import { checkContent } from '../interactions/check-content.ts'
import { readIncomingResource } from '../interactions/incoming-resource.ts'
import { toModification } from '../interactions/modify.ts'
import { prepareBody } from '../large/prepare-write.ts'
import type { FhirServer } from '../parts.ts'
import type { OperationChange, OperationChanged } from './operation.ts'

const RIGHTS: Readonly<Record<OperationChange['kind'], ChangeRights>> = {
  create: ['c'],
  update: ['u'],
  modify: ['u'],
  delete: ['d'],
}

/** Read, examined and with its guard. Throws 4xx. */
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
  const guard = await server.evaluator.guardFor(request, ruling, type, RIGHTS[wanted.kind])
  if (wanted.kind === 'delete') return { kind: 'delete', interaction, type, id, guard }
  if (wanted.kind === 'modify')
    return toModification(server, { request, interaction, type, id, guard, modify: wanted.modify })
  const given = wanted.kind === 'update' ? id : undefined
  const body = await prepareBody(server, request, { type, id: given, guard }, Buffer.from(wanted.json))
  const content = readIncomingResource(server, body, type, given, true)
  await checkContent(server, request, interaction, content, { guard, id })
  const mayCreate = server.capabilities.updateAsCreate
  return { kind: wanted.kind, mayCreate, interaction, type, id, guard, ...content }
}

export const toOperationChanged = ({ version }: Changed): OperationChanged => ({
  type: version.type,
  id: version.id,
  version: version.version,
  get json() {
    return version.deleted ? undefined : version.text
  },
})
