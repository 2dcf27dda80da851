/** Every interaction by name: what the routes of HTTP and the entries of a Bundle both perform. */
import type { Eventually } from '../../database/service.ts'
import type { FhirServer } from '../server.ts'
import type { Answer } from './answer.ts'
import type { Asked } from './asked.ts'
import { type AddressChange, performChange } from './change.ts'
import { create } from './create.ts'
import { remove } from './delete.ts'
import { history } from './history.ts'
import { type AddressLook, performLook } from './look.ts'
import { read, vread } from './read.ts'
import { search } from './search.ts'
import { update } from './update.ts'

/** Interactions that change nothing. */
export const LOOKS = { read, vread, history, search } as const satisfies Readonly<Record<string, AddressLook>>
/** Interactions that change something. */
export const CHANGES = { create, update, delete: remove } as const satisfies Readonly<Record<string, AddressChange>>

export type LookName = keyof typeof LOOKS
export type ChangeName = keyof typeof CHANGES
export type InteractionName = LookName | ChangeName

export const isChange = (name: InteractionName): name is ChangeName => name in CHANGES

/** Performs one interaction: ruled on, in a transaction of its own when it is a change, told to the trail. */
export const perform = (server: FhirServer, name: InteractionName, asked: Asked): Eventually<Answer> =>
  isChange(name) ? performChange(server, asked, CHANGES[name]) : performLook(server, asked, LOOKS[name])
