/** Items that transactions registered for the time before their COMMIT, by the participant that handles them. */
import { isServerError } from '../../kernel/index.ts'
import type { CommitParticipant, Transaction } from './contract.ts'

export class BeforeCommitWork {
  readonly #items = new Map<CommitParticipant<any>, unknown[]>()
  #closing: CommitParticipant<any> | undefined

  get isEmpty(): boolean {
    return this.#items.size === 0
  }

  add(participant: CommitParticipant<any>, item: unknown): void {
    const items = this.#items.get(participant)
    if (items === undefined) this.#items.set(participant, [item])
    else items.push(item)
  }

  /** Adds the items of a transaction that will share this COMMIT. */
  take(other: BeforeCommitWork): void {
    for (const [closing, items] of other.#items) {
      const own = this.#items.get(closing)
      if (own === undefined) this.#items.set(closing, [...items])
      else for (const item of items) own.push(item)
    }
  }

  async run(transaction: Transaction): Promise<void> {
    for (const [closing, items] of this.#items) {
      this.#closing = closing
      await closing.beforeCommit(transaction, items)
    }
  }

  finished(committed: boolean): void {
    for (const participant of this.#items.keys()) participant.finished(committed)
  }

  /** The error of a failure since a participant's `beforeCommit` was called: that participant's refusal. */
  refuse(error: unknown): unknown {
    return isServerError(error) ? error : (this.#closing?.refuse(error) ?? error)
  }
}
