/** Reads what a running Subscription requests, once for each version of the resource. */
import { isServerError } from '../../kernel/index.ts'
import type { Database } from '../database/service.ts'
import type { CurrentResource, SessionReads } from '../fhir/service.ts'
import { type ChannelRules, type RequestedSubscription, readSubscription } from './read-subscription.ts'
import { deleteEvents, endStale, type StateRow } from './tables.ts'
import type { WriteStatus } from './write-status.ts'

export interface RequestReaderParts {
  readonly database: Database
  readonly server: Pick<SessionReads, 'read'>
  readonly rules: ChannelRules
  readonly writeStatus: WriteStatus
}

/** Resolves to undefined where the Subscription does not run any more; its row says so, at the latest soon after. */
export type RequestReader = (row: StateRow) => Promise<RequestedSubscription | undefined>

export const createRequestReader = ({ database, server, rules, writeStatus }: RequestReaderParts): RequestReader => {
  let known: { readonly version: number; readonly asked: RequestedSubscription } | undefined
  const readCurrent = async (id: string): Promise<CurrentResource | undefined> => {
    try {
      return await server.read('Subscription', id)
    } catch (error) {
      if (isServerError(error) && error.status < 500) return undefined
      throw error
    }
  }
  return async (row) => {
    if (known?.version === row.version) return known.asked
    const current = await readCurrent(row.id)
    if (current?.version !== row.version) {
      // It was changed while this plugin was disabled, unless the row has another version meanwhile.
      await database.transact(async (transaction) => {
        const ended = await transaction.get(endStale, [row.id, row.version])
        if (ended !== undefined) await transaction.run(deleteEvents, [row.id])
      })
      return undefined
    }
    try {
      known = { version: row.version, asked: readSubscription(current.parse(), rules) }
      return known.asked
    } catch (error) {
      if (!isServerError(error) || error.status !== 422) throw error
      // The settings of the operator have changed since.
      await writeStatus(row, 'error', error.message)
      return undefined
    }
  }
}
