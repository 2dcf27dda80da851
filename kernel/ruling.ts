/** What `authorize` decides about one interaction. Taps can refuse or narrow; nothing can widen. */
import type { ServerError } from './errors.ts'

/** Search conditions a resource of a type must meet to be seen or changed, e.g. `{ type: 'Observation', query: 'category=laboratory' }`. */
export interface Condition {
  readonly type: string
  readonly query: string
}

/** A compartment all data must lie in, e.g. `{ type: 'Patient', id: 'p1' }`. */
export interface Compartment {
  readonly type: string
  readonly id: string
}

export interface Restriction {
  /** Types that may be touched at all; unset means every type. */
  readonly types?: readonly string[]
  readonly conditions?: readonly Condition[]
  readonly compartment?: Compartment
}

/** Restrictions of several plugins are ANDed. */
export class Ruling {
  readonly restrictions: Restriction[] = []

  /** Ends the interaction with this error. The first refusal stands; it is thrown at once. */
  refuse(error: ServerError): never {
    throw error
  }

  restrict(restriction: Restriction): void {
    this.restrictions.push(restriction)
  }
}
