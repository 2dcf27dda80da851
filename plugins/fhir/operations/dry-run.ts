/** Makes a change to learn whether it would be refused, and rolls it back. No hooks are called and no facts emitted. */

import { type Clock, type Issue, isServerError, type Random, toIssues } from '../../../kernel/index.ts'
import type { Database, Transaction } from '../../database/service.ts'
import type { TypeCatalog } from '../../model/service.ts'
import type { Change, ChangeRights, WritePath } from '../../storage/service.ts'
import { isLongWrite, newId } from '../../storage/service.ts'
import { issuesOfRefusal } from '../bundle/entry-error.ts'
import type { CheckContent } from '../interactions/check-content.ts'
import { readIncomingResource } from '../interactions/incoming-resource.ts'
import type { ServerOwnedTypes } from '../interactions/owned-types.ts'
import type { PrepareWrite } from '../large/prepare-write.ts'
import type { BuiltInInvocation } from './built-in.ts'

export type DryRunResult =
  | { readonly kind: 'create'; readonly json: string }
  | { readonly kind: 'update'; readonly id: string; readonly json: string }
  | { readonly kind: 'delete'; readonly id: string }

const RIGHTS: Readonly<Record<DryRunResult['kind'], ChangeRights>> = { create: ['c'], update: ['u'], delete: ['d'] }

export interface DryRunParts {
  readonly catalog: Pick<TypeCatalog, 'types'>
  readonly clock: Clock
  readonly random: Random
  readonly database: Database
  readonly write: WritePath
  readonly owned: Pick<ServerOwnedTypes, 'check'>
  readonly prepareWrite: PrepareWrite
  /** Without the validation, because $validate has validated the resource already. */
  readonly checkContent: CheckContent
  /** The setting [conformance] update_as_create. */
  readonly updateAsCreate: boolean
}

/** The issues with which a change would be refused; empty when it would be accepted. */
export type DryRun = (invocation: BuiltInInvocation, wanted: DryRunResult) => Promise<readonly Issue[]>

/** Thrown to roll back a change that would be accepted. */
class Undone extends Error {}

const toChange = async (parts: DryRunParts, invocation: BuiltInInvocation, wanted: DryRunResult): Promise<Change> => {
  const { catalog, owned, prepareWrite, checkContent, updateAsCreate } = parts
  const { view, request, ruling } = invocation
  const { type = '' } = invocation.interaction
  const id = wanted.kind === 'create' ? newId(parts) : wanted.id
  owned.check(type, id)
  const interaction = { kind: wanted.kind, type, id } as const
  const guard = await view.access.guardFor(request, ruling, type, RIGHTS[wanted.kind])
  if (wanted.kind === 'delete') return { kind: 'delete', interaction, type, id, guard }
  const given = wanted.kind === 'update' ? id : undefined
  const body = await prepareWrite.body(view, request, { type, id: given, guard }, Buffer.from(wanted.json))
  const content = readIncomingResource(catalog, body, type, given)
  await checkContent(request, interaction, content, { guard, id })
  return { kind: wanted.kind, mayCreate: updateAsCreate, interaction, type, id, guard, ...content }
}

export const createDryRun =
  (parts: DryRunParts): DryRun =>
  async (invocation, wanted) => {
    const { view, request } = invocation
    const { write, database } = parts
    try {
      const change = await toChange(parts, invocation, wanted)
      if (wanted.kind === 'delete') await invocation.data.read(change.type, change.id)
      // Inside a transaction no other one can be opened, and a change made in it could not be rolled back alone.
      if (view.transaction !== undefined) return []
      const attempt = async (transaction: Transaction): Promise<never> => {
        const changed = await write.apply(transaction, change, true)
        await write.confirm(request, transaction, [changed], issuesOfRefusal)
        throw new Undone()
      }
      await database.transact(attempt, { isLong: isLongWrite([change]) })
    } catch (error) {
      if (error instanceof Undone) return []
      if (!isServerError(error) || error.status >= 500) throw error
      return toIssues(error)
    }
    return []
  }
