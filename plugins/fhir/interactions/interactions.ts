/** All interactions by name. HTTP routes and entries of a Bundle perform them here. */
import type { Interaction } from '../../../kernel/index.ts'
import type { MaybePromise } from '../../database/service.ts'
import type { TypeCatalog } from '../../model/service.ts'
import { emitRefused } from '../dispatch.ts'
import { isChanging } from '../operations/operation.ts'
import type { View } from '../view.ts'
import type { ChangeName, InteractionName, ReadName } from './addresses.ts'
import type { Answer } from './answer.ts'
import type { AddressChange, AddressedChange, PerformChange } from './change.ts'
import { checkOwnedRead } from './check-owned-read.ts'
import type { AddressOperations } from './operation.ts'
import type { ServerOwnedTypes } from './owned-types.ts'
import type { AddressedRead, AddressRead, PerformRead } from './read-interaction.ts'
import { type InteractionRequest, interactionOf, type PathParams } from './request.ts'

/** An addressed interaction: a change or a read. */
export type AddressedAny =
  | { readonly kind: 'change'; readonly addressed: AddressedChange }
  | { readonly kind: 'read'; readonly addressed: AddressedRead }

const KIND_OF: Readonly<Record<Exclude<InteractionName, 'history' | 'search'>, Interaction['kind']>> = {
  read: 'read',
  vread: 'vread',
  create: 'create',
  update: 'update',
  patch: 'patch',
  delete: 'delete',
  operation: 'operation',
}

export interface Interactions {
  /**
   * The interaction that an address names, for the audit trail, even when its parameters or headers are invalid.
   * Undefined when the type or the operation is unknown.
   */
  named(name: InteractionName, request: InteractionRequest): Interaction | undefined
  /** True for an operation that changes nothing. Throws 404. */
  isAnswering(params: PathParams): boolean
  /** Throws 4xx when the address, a parameter or a condition is invalid. */
  address(view: View, name: InteractionName, request: InteractionRequest): AddressedAny
  /** Performs an addressed interaction. It emits its fact also when it throws. */
  performAddressed(view: View, request: InteractionRequest, found: AddressedAny): MaybePromise<Answer>
  /** Performs one interaction: authorizes it, makes a change in a transaction of its own, and emits its fact. */
  perform(view: View, name: InteractionName, request: InteractionRequest): MaybePromise<Answer>
}

export interface InteractionsParts {
  readonly catalog: Pick<TypeCatalog, 'types'>
  readonly owned: ServerOwnedTypes
  readonly reads: Readonly<Record<ReadName, AddressRead>>
  readonly changes: Readonly<Record<ChangeName, AddressChange>>
  readonly operations: AddressOperations
  readonly performRead: PerformRead
  readonly performChange: PerformChange
}

export const createInteractions = (parts: InteractionsParts): Interactions => {
  const { catalog, owned, reads, changes, operations, performRead, performChange } = parts
  const isChange = (name: ReadName | ChangeName): name is ChangeName => name in changes

  const named: Interactions['named'] = (name, request) => {
    const { type, id, operation } = request.params
    if (type !== undefined && !catalog.types.has(type)) return undefined
    if (name === 'search')
      return interactionOf(request, { kind: type === undefined ? 'search-system' : 'search-type', type })
    if (name === 'history') {
      const kind = id !== undefined ? 'history-instance' : type !== undefined ? 'history-type' : 'history-system'
      return interactionOf(request, { kind, type, id })
    }
    const kind = KIND_OF[name]
    if (name !== 'operation') return interactionOf(request, { kind, type, id })
    try {
      operations.find(request.params)
      return interactionOf(request, { kind, type, id, operation })
    } catch {
      return undefined
    }
  }

  const address: Interactions['address'] = (view, name, request) => {
    checkOwnedRead(owned, name, request)
    if (name === 'operation') return operations.address(view, request)
    return isChange(name)
      ? { kind: 'change', addressed: changes[name](view, request) }
      : { kind: 'read', addressed: reads[name](view, request) }
  }

  const performAddressed: Interactions['performAddressed'] = (view, request, found) =>
    found.kind === 'change'
      ? performChange(view, request, found.addressed)
      : performRead(view, request, found.addressed)

  /** Emits the fact of a request that is refused for its parameters or headers before authorization. */
  const refuseAddressed = async (
    { run }: View,
    name: InteractionName,
    request: InteractionRequest,
    error: unknown,
  ): Promise<never> => {
    const interaction = run.onAudit === null ? undefined : named(name, request)
    // A request that names no interaction is audited as a mere request.
    if (interaction !== undefined) await emitRefused(run, request.ctx, interaction, error)
    throw error
  }

  return {
    named,
    isAnswering: (params) => !isChanging(operations.find(params)),
    address,
    performAddressed,
    perform(view, name, request) {
      let found: AddressedAny
      try {
        found = address(view, name, request)
      } catch (error) {
        return refuseAddressed(view, name, request, error)
      }
      return performAddressed(view, request, found)
    },
  }
}
