/** The interface of guards, which enforce a ruling on a change. A guard is made before the transaction and called inside it. */
import type { Right } from '../../kernel/index.ts'
import type { MaybePromise } from '../database/service.ts'
import type { Findings } from './findings.ts'
import type { StoredVersion } from './version.ts'
import type { Reads } from './version-store.ts'

type Json = Readonly<Record<string, unknown>>

export interface WriteGuard {
  /** False if the ruling restricts nothing. */
  readonly restricts: boolean
  /**
   * Checks that the caller may change the resource. Throws 404 if the caller may not see it, whether it exists, is deleted or
   * never existed, and 403 if the caller may see but not change it. Called before preconditions, whose errors reveal the
   * version. Throws Contended if another resource has decided and `current` has been replaced since it was read.
   * `findings` are those of a worker thread about the current version.
   */
  target(
    id: string,
    current: StoredVersion | undefined,
    reads: Pick<Reads, 'read' | 'vread' | 'isCurrent'>,
    findings?: Findings,
  ): MaybePromise<void>
  /** Throws 403 if the caller does not have the right on the new content. Decided by the content, without queries. */
  content(id: string, resource: Json): void
  /** Compiles what `sees` needs for resources of these types. To be called before the transaction. */
  prepare(types: Iterable<string>): MaybePromise<void>
  /**
   * Whether the caller may read this version, which the change has made or found. False if only the search index could
   * decide. The security context of a Binary is ignored, because the caller has sent or seen the content.
   */
  reads(version: StoredVersion): boolean
  /**
   * Whether the caller may read this version or find it by a search. Always false for a Binary with a security context,
   * which would need another query. Throws Contended for a type that was not prepared.
   */
  sees(version: StoredVersion): boolean
  /** Whether the access itself names this resource, as a compartment or as the user, so that the caller knows of it. */
  names(type: string, id: string): boolean
}

/** The rights that a change needs. The first one is also checked on the new content. */
export type ChangeRights = readonly [Right, ...Right[]]

/** The guard of a caller without restrictions. */
export const UNGUARDED: WriteGuard = Object.freeze({
  restricts: false,
  target: () => undefined,
  content: () => undefined,
  prepare: () => undefined,
  reads: () => true,
  sees: () => true,
  names: () => true,
})
