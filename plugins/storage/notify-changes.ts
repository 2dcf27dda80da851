/** Calls the hooks onWrite and onAudit inside the transaction. */
import {
  type AuditFact,
  createPause,
  type FactDetails,
  type RequestContext,
  type Runners,
  type Write,
} from '../../kernel/index.ts'
import { chain, type MaybePromise, type Transaction } from '../database/service.ts'
import type { Changed, CurrentChange } from './change.ts'
import type { ChangeObserver } from './change-observer.ts'

/** Calls the hooks for each change. */
export type NotifyChanges = (
  request: RequestContext,
  transaction: Transaction,
  changes: readonly Changed[],
  progress: CurrentChange | undefined,
) => MaybePromise<void>

export const createNotifyChanges = (run: Runners, observer: ChangeObserver): NotifyChanges => {
  const notifyWrite = (request: RequestContext, transaction: Transaction, changed: Changed): MaybePromise<void> => {
    if (run.onWrite === null || !changed.written) return undefined
    const { interaction, version, previous, resource } = changed
    const write: Write = {
      request,
      interaction,
      previous: previous?.deleted === false ? previous.toFact() : undefined,
      next: version.toFact(),
      resource,
      transaction,
    }
    return run.onWrite(write)
  }

  const notifyAudit = (request: RequestContext, transaction: Transaction, changed: Changed): MaybePromise<void> => {
    if (run.onAudit === null) return undefined
    const { interaction, version, created } = changed
    const status = version.deleted ? 204 : created ? 201 : 200
    const { ownUrl } = request
    const details: FactDetails = { patients: () => observer.patients(changed, ownUrl) }
    const fact: AuditFact = { request, interaction, status, version: version.version, details, transaction }
    return run.onAudit(fact)
  }

  const notify = (request: RequestContext, transaction: Transaction, changed: Changed): MaybePromise<void> =>
    chain(notifyWrite(request, transaction, changed), () => notifyAudit(request, transaction, changed))

  /** `from`: index of the first change. */
  const notifyAll = (
    request: RequestContext,
    transaction: Transaction,
    changes: readonly Changed[],
    progress: CurrentChange | undefined,
    pause = createPause(),
    from = 0,
  ): MaybePromise<void> => {
    if (run.onWrite === null && run.onAudit === null) return
    for (let at = from; at < changes.length; at += 1) {
      const changed = changes[at] as Changed
      if (progress !== undefined) progress.interaction = changed.interaction
      const notified = notify(request, transaction, changed) ?? (changes.length > 1 ? pause() : undefined)
      if (notified instanceof Promise)
        return notified.then(() => notifyAll(request, transaction, changes, progress, pause, at + 1))
    }
    if (progress !== undefined) progress.interaction = undefined
  }

  return notifyAll
}
