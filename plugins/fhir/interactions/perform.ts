/** Every interaction by name: what the routes of HTTP and the entries of a Bundle both perform. */
import type { Interaction } from '../../../kernel/index.ts'
import type { MaybePromise } from '../../database/service.ts'
import { emitRefused } from '../dispatch.ts'
import type { FhirServer } from '../parts.ts'
import type { ChangeName, InteractionName, ReadName } from './addresses.ts'
import type { Answer } from './answer.ts'
import { type AddressChange, type AddressedChange, performChange } from './change.ts'
import { create } from './create.ts'
import { deleteResource } from './delete.ts'
import { history } from './history.ts'
import { addressOperation, operationOf } from './operation.ts'
import { patch } from './patch.ts'
import { read, vread } from './read.ts'
import { type AddressedRead, type AddressRead, performRead } from './read-interaction.ts'
import { type InteractionRequest, interactionOf } from './request.ts'
import { search } from './search.ts'
import { update } from './update.ts'

/** Interactions that change nothing. */
export const READS = { read, vread, history, search } as const satisfies Readonly<Record<ReadName, AddressRead>>
/** Interactions that change something. */
export const CHANGES = { create, update, patch, delete: deleteResource } as const satisfies Readonly<
  Record<ChangeName, AddressChange>
>

const isChange = (name: ReadName | ChangeName): name is ChangeName => name in CHANGES

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

/**
 * The interaction that an address names, whatever is wrong with its parameters and headers: for the trail. Undefined where there
 * is none, because the type or the operation is not known.
 */
export const interactionNamed = (
  server: FhirServer,
  name: InteractionName,
  request: InteractionRequest,
): Interaction | undefined => {
  const { type, id, operation } = request.params
  if (type !== undefined && !server.catalog.types.has(type)) return undefined
  if (name === 'search')
    return interactionOf(request, { kind: type === undefined ? 'search-system' : 'search-type', type })
  if (name === 'history') {
    const kind = id !== undefined ? 'history-instance' : type !== undefined ? 'history-type' : 'history-system'
    return interactionOf(request, { kind, type, id })
  }
  const kind = KIND_OF[name]
  if (name !== 'operation') return interactionOf(request, { kind, type, id })
  try {
    operationOf(server, request.params)
    return interactionOf(request, { kind, type, id, operation })
  } catch {
    return undefined
  }
}

/** Throws 4xx for what address, parameters and conditions cannot be. */
export const address = (server: FhirServer, name: InteractionName, request: InteractionRequest): AddressedAny => {
  if (name === 'operation') return addressOperation(server, request)
  return isChange(name)
    ? { kind: 'change', addressed: CHANGES[name](server, request) }
    : { kind: 'read', addressed: READS[name](server, request) }
}

/** Performs what was addressed. Whatever it throws from here on is told to the trail. */
export const performAddressed = (
  server: FhirServer,
  request: InteractionRequest,
  found: AddressedAny,
): MaybePromise<Answer> =>
  found.kind === 'change'
    ? performChange(server, request, found.addressed)
    : performRead(server, request, found.addressed)

/** The fact of a request that is refused for its parameters or headers, before it is ruled on. */
const refuseAddressed = async (
  server: FhirServer,
  name: InteractionName,
  request: InteractionRequest,
  error: unknown,
): Promise<never> => {
  const interaction = server.run.onAudit === null ? undefined : interactionNamed(server, name, request)
  // What names no interaction is told by the request itself.
  if (interaction !== undefined) await emitRefused(server.run, request.ctx, interaction, error)
  throw error
}

/** Performs one interaction: ruled on, in a transaction of its own when it is a change, told to the trail. */
export const perform = (
  server: FhirServer,
  name: InteractionName,
  request: InteractionRequest,
): MaybePromise<Answer> => {
  let found: AddressedAny
  try {
    found = address(server, name, request)
  } catch (error) {
    return refuseAddressed(server, name, request, error)
  }
  return performAddressed(server, request, found)
}
