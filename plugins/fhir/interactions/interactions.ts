/** Every interaction by name: what the routes of HTTP and the entries of a Bundle both perform. */
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

/** An interaction addressed: what changes something, or what only looks. */
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
   * The interaction that an address names, whatever is wrong with its parameters and headers: for the trail. Undefined where
   * there is none, because the type or the operation is not known.
   */
  named(name: InteractionName, request: InteractionRequest): Interaction | undefined
  /** True for an operation that changes nothing. Throws 404. */
  isAnswering(params: PathParams): boolean
  /** Throws 4xx for what address, parameters and conditions cannot be. */
  address(view: View, name: InteractionName, request: InteractionRequest): AddressedAny
  /** Performs what was addressed. Whatever it throws from here on is told to the trail. */
  performAddressed(view: View, request: InteractionRequest, found: AddressedAny): MaybePromise<Answer>
  /** Performs one interaction: ruled on, in a transaction of its own when it is a change, told to the trail. */
  perform(view: View, name: InteractionName, request: InteractionRequest): MaybePromise<Answer>
}

export interface InteractionsParts {
  readonly catalog: Pick<TypeCatalog, 'types'>
  readonly owned: ServerOwnedTypes
  /** They change nothing. */
  readonly reads: Readonly<Record<ReadName, AddressRead>>
  /** They change something. */
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

  /** The fact of a request that is refused for its parameters or headers, before it is ruled on. */
  const refuseAddressed = async (
    { run }: View,
    name: InteractionName,
    request: InteractionRequest,
    error: unknown,
  ): Promise<never> => {
    const interaction = run.onAudit === null ? undefined : named(name, request)
    // What names no interaction is told by the request itself.
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
