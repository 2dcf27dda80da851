/** Turns the changes that an operation returns into changes of the write path. */
import type { Clock, Interaction, Random, RequestContext, Ruling } from '../../../kernel/index.ts'
import { type TypeCatalog, typeOf } from '../../model/service.ts'
import type { Change, Changed, ChangeRights } from '../../storage/service.ts'
import { newId } from '../../storage/service.ts'
import type { CheckContent } from '../interactions/check-content.ts'
import { readIncomingResource } from '../interactions/incoming-resource.ts'
import type { ToModification } from '../interactions/modify.ts'
import type { ServerOwnedTypes } from '../interactions/owned-types.ts'
import type { PrepareWrite } from '../large/prepare-write.ts'
import type { View } from '../view.ts'
import type { OperationChange, OperationChanged } from './operation.ts'

const RIGHTS: Readonly<Record<OperationChange['kind'], ChangeRights>> = {
  create: ['c'],
  update: ['u'],
  modify: ['u'],
  delete: ['d'],
}

/** Reads and checks the change, and makes its guard. Throws 4xx. */
export type ToOperationChange = (
  view: View,
  request: RequestContext,
  ruling: Ruling,
  invoked: Interaction,
  wanted: OperationChange,
) => Promise<Change>

export interface OperationChangeParts {
  readonly catalog: Pick<TypeCatalog, 'types'>
  readonly clock: Clock
  readonly random: Random
  readonly owned: Pick<ServerOwnedTypes, 'check'>
  readonly prepareWrite: PrepareWrite
  readonly checkContent: CheckContent
  readonly toModification: ToModification
  /** The setting [conformance] update_as_create. */
  readonly updateAsCreate: boolean
}

export const createToOperationChange =
  (parts: OperationChangeParts): ToOperationChange =>
  async (view, request, ruling, invoked, wanted) => {
    const { catalog, owned, prepareWrite, checkContent, toModification, updateAsCreate } = parts
    const type = typeOf(parts, wanted.type).name
    const id = wanted.kind === 'create' ? newId(parts) : wanted.id
    const interaction: Interaction = { ...invoked, type, id }
    owned.check(type, id)
    const guard = await view.access.guardFor(request, ruling, type, RIGHTS[wanted.kind])
    if (wanted.kind === 'delete') return { kind: 'delete', interaction, type, id, guard }
    if (wanted.kind === 'modify')
      return toModification(view, { request, interaction, type, id, guard, modify: wanted.modify })
    const given = wanted.kind === 'update' ? id : undefined
    const body = await prepareWrite.body(view, request, { type, id: given, guard }, Buffer.from(wanted.json))
    const content = readIncomingResource(catalog, body, type, given, true)
    await checkContent(request, interaction, content, { guard, id })
    return { kind: wanted.kind, mayCreate: updateAsCreate, interaction, type, id, guard, ...content }
  }

export const toOperationChanged = ({ version }: Changed): OperationChanged => ({
  type: version.type,
  id: version.id,
  version: version.version,
  get json() {
    return version.deleted ? undefined : version.text
  },
})
