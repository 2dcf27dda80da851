/** What a ruling lets a change do: to which resource, and into what. Made before the transaction, asked inside it. */
import type { Right } from '../../kernel/index.ts'
import type { MaybePromise } from '../database/service.ts'
import type { Findings } from './findings.ts'
import type { StoredVersion } from './version.ts'
import type { Reads } from './version-store.ts'

type Json = Readonly<Record<string, unknown>>

export interface WriteGuard {
  /** False when nothing is restricted. */
  readonly restricts: boolean
  /**
   * May the resource be changed? Throws 404 for what must not be seen, whether it is there, deleted or never was, and 403
   * for what may be seen only. Asked before preconditions: they would tell the version. `findings`: of a thread about the
   * current version.
   */
  target(
    id: string,
    current: StoredVersion | undefined,
    reads: Pick<Reads, 'read' | 'vread'>,
    findings?: Findings,
  ): MaybePromise<void>
  /** Throws 403 when the change would make a resource on which the right does not hold. Decided by the content alone. */
  content(id: string, resource: Json): void
  /** Compiles what `sees` needs to decide on resources of these types. Before the transaction. */
  prepare(types: Iterable<string>): MaybePromise<void>
  /**
   * May this version, which the change made or found, be read? What it takes the index to decide is not. The security
   * context of a Binary is not asked: the caller has sent the content, or has seen it.
   */
  reads(version: StoredVersion): boolean
  /**
   * May this version be read or found by a search? Not a Binary with a security context, which takes a second look-up.
   * Throws Contended for a type that was not prepared.
   */
  sees(version: StoredVersion): boolean
  /** Is the id known to the caller from the access itself? Then only the existence of the resource counts. */
  names(type: string, id: string): boolean
}

/** The rights of a change; the first of them must hold on the new content. */
export type ChangeRights = readonly [Right, ...Right[]]

/** Nothing is restricted. */
export const UNGUARDED: WriteGuard = Object.freeze({
  restricts: false,
  target: () => undefined,
  content: () => undefined,
  prepare: () => undefined,
  reads: () => true,
  sees: () => true,
  names: () => true,
})
