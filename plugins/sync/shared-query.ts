/** A compiled query and all live queries that share it: the same text under the same ruling. */
import type { Matcher } from '../fhir/service.ts'
import type { Receiver } from './receiver.ts'

export class SharedQuery {
  /** Names query and ruling. */
  readonly scope: string
  readonly matcher: Matcher
  /** A set only for several: most have one, and there are thousands. */
  #receivers: Receiver | Set<Receiver> | undefined

  constructor(scope: string, matcher: Matcher) {
    this.scope = scope
    this.matcher = matcher
  }

  get isUnused(): boolean {
    return this.#receivers === undefined
  }

  /** A copy: receivers may be removed while it is gone through. */
  get receivers(): readonly Receiver[] {
    const there = this.#receivers
    return there === undefined ? [] : there instanceof Set ? [...there] : [there]
  }

  add(receiver: Receiver): void {
    const there = this.#receivers
    if (there === undefined) this.#receivers = receiver
    else if (there instanceof Set) there.add(receiver)
    else this.#receivers = new Set([there, receiver])
  }

  /** False where it is not there. */
  remove(receiver: Receiver): boolean {
    const there = this.#receivers
    if (there === receiver) {
      this.#receivers = undefined
      return true
    }
    if (!(there instanceof Set) || !there.delete(receiver)) return false
    if (there.size === 0) this.#receivers = undefined
    return true
  }
}
