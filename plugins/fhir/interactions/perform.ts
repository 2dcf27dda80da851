/** Every interaction by name: what the routes of HTTP and the entries of a Bundle both perform. */

import type { Eventually } from '../../database/service.ts'
import type { FhirServer } from '../parts.ts'
import type { ChangeName, InteractionName, LookName } from './addresses.ts'
import type { Answer } from './answer.ts'
import { type AddressChange, type Addressed, performChange } from './change.ts'
import { create } from './create.ts'
import { remove } from './delete.ts'
import { history } from './history.ts'
import { addressOperation } from './operation.ts'
import { patch } from './patch.ts'
import { read, vread } from './read.ts'
import { type AddressedLook, type AddressLook, performLook } from './read-interaction.ts'
import type { Asked } from './request.ts'
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

/** Throws 4xx for what address, parameters and conditions cannot be. */
export const address = (server: FhirServer, name: InteractionName, asked: Asked): AddressedAny => {
  if (name === 'operation') return addressOperation(server, asked)
  return isChange(name)
    ? { kind: 'change', addressed: CHANGES[name](server, asked) }
    : { kind: 'look', addressed: LOOKS[name](server, asked) }
}

/** Performs what was addressed. Whatever it throws from here on is told to the trail. */
export const performAddressed = (server: FhirServer, asked: Asked, found: AddressedAny): Eventually<Answer> =>
  found.kind === 'change'
    ? performChange(server, asked, () => found.addressed)
    : performLook(server, asked, () => found.addressed)

const performOperation = async (server: FhirServer, asked: Asked): Promise<Answer> =>
  performAddressed(server, asked, addressOperation(server, asked))

/** Performs one interaction: ruled on, in a transaction of its own when it is a change, told to the trail. */
export const perform = (server: FhirServer, name: InteractionName, asked: Asked): Eventually<Answer> => {
  if (name === 'operation') return performOperation(server, asked)
  return isChange(name) ? performChange(server, asked, CHANGES[name]) : performLook(server, asked, LOOKS[name])
}
