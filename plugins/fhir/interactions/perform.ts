/** Every interaction by name: what the routes of HTTP and the entries of a Bundle both perform. */
import type { Interaction } from '../../../kernel/index.ts'
import type { Eventually } from '../../database/service.ts'
import { refused } from '../dispatch.ts'
import type { FhirServer } from '../parts.ts'
import type { ChangeName, InteractionName, LookName } from './addresses.ts'
import type { Answer } from './answer.ts'
import { type AddressChange, type Addressed, performChange } from './change.ts'
import { create } from './create.ts'
import { remove } from './delete.ts'
import { history } from './history.ts'
import { addressOperation, operationOf } from './operation.ts'
import { patch } from './patch.ts'
import { read, vread } from './read.ts'
import { type AddressedLook, type AddressLook, performLook } from './read-interaction.ts'
import { type Asked, interactionOf } from './request.ts'
import { search } from './search.ts'
import { update } from './update.ts'

/** Interactions that change nothing. */
export const LOOKS = { read, vread, history, search } as const satisfies Readonly<Record<LookName, AddressLook>>
/** Interactions that change something. */
export const CHANGES = { create, update, patch, delete: remove } as const satisfies Readonly<
  Record<ChangeName, AddressChange>
>

const isChange = (name: LookName | ChangeName): name is ChangeName => name in CHANGES

/** An interaction addressed: what changes something, or what only looks. */
export type AddressedAny =
  | { readonly kind: 'change'; readonly addressed: Addressed }
  | { readonly kind: 'look'; readonly addressed: AddressedLook }

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
export const interactionNamed = (server: FhirServer, name: InteractionName, asked: Asked): Interaction | undefined => {
  const { type, id, operation } = asked.params
  if (type !== undefined && !server.catalog.types.has(type)) return undefined
  if (name === 'search')
    return interactionOf(asked, { kind: type === undefined ? 'search-system' : 'search-type', type })
  if (name === 'history') {
    const kind = id !== undefined ? 'history-instance' : type !== undefined ? 'history-type' : 'history-system'
    return interactionOf(asked, { kind, type, id })
  }
  const kind = KIND_OF[name]
  if (name !== 'operation') return interactionOf(asked, { kind, type, id })
  try {
    operationOf(server, asked.params)
    return interactionOf(asked, { kind, type, id, operation })
  } catch {
    return undefined
  }
}

/** Throws 4xx for what address, parameters and conditions cannot be. */
export const address = (server: FhirServer, name: InteractionName, asked: Asked): AddressedAny => {
  if (name === 'operation') return addressOperation(server, asked)
  return isChange(name)
    ? { kind: 'change', addressed: CHANGES[name](server, asked) }
    : { kind: 'look', addressed: LOOKS[name](server, asked) }
}

/** Performs what was addressed. Whatever it throws from here on is told to the trail. */
export const performAddressed = (server: FhirServer, asked: Asked, found: AddressedAny): Eventually<Answer> =>
  found.kind === 'change' ? performChange(server, asked, found.addressed) : performLook(server, asked, found.addressed)

/** The fact of a request that is refused for its parameters or headers, before it is ruled on. */
const refuseAddressed = async (
  server: FhirServer,
  name: InteractionName,
  asked: Asked,
  error: unknown,
): Promise<never> => {
  const interaction = server.run.onAudit === null ? undefined : interactionNamed(server, name, asked)
  // What names no interaction is told by the request itself.
  if (interaction !== undefined) await refused(server.run, asked.ctx, interaction, error)
  throw error
}

/** Performs one interaction: ruled on, in a transaction of its own when it is a change, told to the trail. */
export const perform = (server: FhirServer, name: InteractionName, asked: Asked): Eventually<Answer> => {
  let found: AddressedAny
  try {
    found = address(server, name, asked)
  } catch (error) {
    return refuseAddressed(server, name, asked, error)
  }
  return performAddressed(server, asked, found)
}
