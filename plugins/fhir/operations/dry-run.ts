/** Makes a change to see whether it would be taken, and undoes it: nothing of it is told to anybody. */

import { type Issue, isServerError, toIssues } from '../../../kernel/index.ts'
import type { Change, ChangeRights } from '../../storage/service.ts'
import { newId } from '../../storage/service.ts'
import { issuesOfRefusal } from '../bundle/entry-error.ts'
import { checkContent } from '../interactions/check-content.ts'
import { readIncomingResource } from '../interactions/incoming-resource.ts'
import { prepareBody } from '../large/prepare-write.ts'
import type { BuiltInInvocation } from '../parts.ts'

export type DryRunResult =
  | { readonly kind: 'create'; readonly json: string }
  | { readonly kind: 'update'; readonly id: string; readonly json: string }
  | { readonly kind: 'delete'; readonly id: string }

const RIGHTS: Readonly<Record<DryRunResult['kind'], ChangeRights>> = { create: ['c'], update: ['u'], delete: ['d'] }

/** Thrown to undo what would have been taken. */
class Undone extends Error {}

const toChange = async (invocation: BuiltInInvocation, wanted: DryRunResult): Promise<Change> => {
  const { server, request, ruling } = invocation
  const { type = '' } = invocation.interaction
  server.owned.check(type)
  const id = wanted.kind === 'create' ? newId(server) : wanted.id
  const interaction = { kind: wanted.kind, type, id } as const
  const guard = await server.evaluator.guardFor(request, ruling, type, RIGHTS[wanted.kind])
  if (wanted.kind === 'delete') return { kind: 'delete', interaction, type, id, guard }
  const given = wanted.kind === 'update' ? id : undefined
  const body = await prepareBody(server, request, { type, id: given, guard }, Buffer.from(wanted.json))
  const content = readIncomingResource(server, body, type, given)
  await checkContent({ ...server, validator: undefined }, request, interaction, content, { guard, id })
  const mayCreate = server.capabilities.updateAsCreate
  return { kind: wanted.kind, mayCreate, interaction, type, id, guard, ...content }
}

/** Why a change would be refused; nothing when it would be taken. */
export const dryRun = async (invocation: BuiltInInvocation, wanted: DryRunResult): Promise<readonly Issue[]> => {
  const { server, request } = invocation
  const { write, store } = server
  try {
    const change = await toChange(invocation, wanted)
    if (wanted.kind === 'delete') await invocation.data.read(change.type, change.id)
    // Inside of a transaction there is no other one, and what is made there stays.
    if (server.transaction !== undefined) return []
    await store.database.transact(async (transaction) => {
      const changed = await write.apply(transaction, change, true)
      await write.confirm(request, transaction, [changed], issuesOfRefusal)
      throw new Undone()
    })
  } catch (error) {
    if (error instanceof Undone) return []
    if (!isServerError(error) || error.status >= 500) throw error
    return toIssues(error)
  }
  return []
}
