/** `transact` of a server that only reads: it takes work that every server may do, and refuses all other. */
import type { Database } from '../contract.ts'
import { ReadsOnly } from '../errors.ts'

export const sharedOnly =
  (transact: Database['transact']): Database['transact'] =>
  (work, options) =>
    options?.shared === true ? transact(work, options) : Promise.reject(ReadsOnly())
