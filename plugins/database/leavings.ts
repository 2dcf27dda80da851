/** What transactions left for their end, by the closing that gathers it. */
import { isServerError } from '../../kernel/index.ts'
import type { Closing, Transaction } from './contract.ts'

export class Leavings {
  readonly #items = new Map<Closing<any>, unknown[]>()
  #closing: Closing<any> | undefined

  get isEmpty(): boolean {
    return this.#items.size === 0
  }

  /** True since `close` was called. */
  get isClosing(): boolean {
    return this.#closing !== undefined
  }

  add(closing: Closing<any>, item: unknown): void {
    const items = this.#items.get(closing)
    if (items === undefined) this.#items.set(closing, [item])
    else items.push(item)
  }

  /** Takes over what a transaction left that will be committed together with others. */
  take(other: Leavings): void {
    for (const [closing, items] of other.#items) {
      const own = this.#items.get(closing)
      if (own === undefined) this.#items.set(closing, [...items])
      else for (const item of items) own.push(item)
    }
  }

  async close(transaction: Transaction): Promise<void> {
    for (const [closing, items] of this.#items) {
      this.#closing = closing
      await closing.close(transaction, items)
    }
  }

  closed(committed: boolean): void {
    for (const closing of this.#items.keys()) closing.closed(committed)
  }

  /** The error for what went wrong since `close` was called. */
  refuse(error: unknown): unknown {
    return isServerError(error) ? error : (this.#closing?.refuse(error) ?? error)
  }
}
