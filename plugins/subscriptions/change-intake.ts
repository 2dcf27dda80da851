/**
 * Queues each version that a Subscription may match, in the transaction of its change and in the order of commits. The rows
 * of Subscriptions change with their resources in the same order, so each change is before or after a Subscription starts.
 */
import type { Write } from '../../kernel/index.ts'
import type { CommitParticipant, Transaction } from '../database/service.ts'
import type { FoundRulings } from './check-subscription.ts'
import { QueueUnavailable, Unchecked } from './errors.ts'
import { isOwnRequest } from './own-request.ts'
import { type ChannelRules, readSubscription } from './read-subscription.ts'
import {
  activate,
  type ChangeRow,
  deleteEvents,
  endState,
  insertChange,
  putRequest,
  readWatched,
  takeNumbers,
} from './tables.ts'

type Written = Omit<ChangeRow, 'seq'>
/** A change of the row of a Subscription. */
interface StateChange {
  readonly subscription: string
  run(transaction: Transaction): Promise<void>
}
type Item = Written | StateChange

export interface ChangeIntakeParts {
  readonly rules: ChannelRules
  readonly rulings: FoundRulings
  /** Queued changes were committed. */
  readonly onChanges: () => void
  /** The rows of these Subscriptions were changed. */
  readonly onStates: (subscriptions: readonly string[]) => void
}

/** A tap of `onWrite`. */
export type ChangeIntake = (write: Write) => void

/** The change of the row of a Subscription that goes with this version. */
const stateChange = ({ rules, rulings }: ChangeIntakeParts, { request, next, resource }: Write): StateChange => {
  const { id, version } = next
  const end = (status: 'error' | 'off' | 'gone'): StateChange => ({
    subscription: id,
    async run(transaction) {
      await transaction.run(endState, [version, status, id])
      await transaction.run(deleteEvents, [id])
    },
  })
  if (resource === undefined) return end('gone')
  const { status } = resource
  if (status === 'active' && isOwnRequest(request))
    return { subscription: id, run: async (transaction) => transaction.run(activate, [version, id]) }
  if (status !== 'requested' && status !== 'active') return end(status === 'error' ? 'error' : 'off')
  const asked = readSubscription(resource, rules)
  const restrictions = rulings.of(request, asked.type)
  if (restrictions === undefined || status === 'active') throw Unchecked()
  const { kind, client, user } = request.caller
  const caller = JSON.stringify({ kind, ...(client !== undefined && { client }), ...(user !== undefined && { user }) })
  const row = [id, version, asked.channel, asked.type, caller, JSON.stringify(restrictions), asked.ends]
  return {
    subscription: id,
    async run(transaction) {
      await transaction.run(putRequest, row)
      await transaction.run(deleteEvents, [id])
    },
  }
}

export const createChangeIntake = (parts: ChangeIntakeParts): ChangeIntake => {
  /** Types of the active Subscriptions, after the last transaction. */
  let watched: ReadonlySet<string> | undefined
  let hasChanges = false
  let changed: string[] = []

  const store = async (transaction: Transaction, written: readonly Written[]): Promise<void> => {
    if (written.length === 0) return
    watched ??= new Set((await transaction.all<{ type: string }>(readWatched, [])).map(({ type }) => type))
    const types = watched
    const kept = written.filter(({ type }) => types.has(type))
    if (kept.length === 0) return
    hasChanges = true
    const last = await transaction.get<{ seq: number }>(takeNumbers, [kept.length])
    let seq = Number(last?.seq) - kept.length
    for (const { type, id, version } of kept) {
      seq += 1
      await transaction.run(insertChange, [seq, type, id, version])
    }
  }
  const participant: CommitParticipant<Item> = {
    async beforeCommit(transaction, items) {
      hasChanges = false
      changed = []
      let written: Written[] = []
      for (const item of items) {
        if (!('run' in item)) {
          written.push(item)
          continue
        }
        await store(transaction, written)
        written = []
        await item.run(transaction)
        watched = undefined
        changed.push(item.subscription)
      }
      await store(transaction, written)
    },
    finished(committed) {
      if (!committed) watched = undefined
      if (committed && changed.length > 0) parts.onStates(changed)
      if (committed && hasChanges) parts.onChanges()
    },
    refuse: (cause) => QueueUnavailable().with({ cause, headers: { 'retry-after': '1' } }),
  }
  return (write) => {
    const { next, resource, transaction } = write
    if (next.type === 'Subscription') transaction.beforeCommit(participant, stateChange(parts, write))
    if (resource === undefined) return
    const { type, id, version } = next
    transaction.beforeCommit(participant, { type, id, version })
  }
}
