/** What decides whether a ruling allows a version of a resource. */
import type { Right, Ruling } from '../../../kernel/index.ts'
import type { MaybePromise, Transaction } from '../../database/service.ts'
import type { ChangeRights, StoredVersion, WriteGuard } from '../../storage/service.ts'
import type { AccessFilter } from './access-filter.ts'
import type { AccessContext, LargeRows } from './content-rights.ts'

export interface AccessEvaluator {
  /** The ruling as search conditions. */
  filter(request: AccessContext, ruling: Ruling): AccessFilter
  /**
   * Returns whether the right applies to this version. For a deletion the version before it decides. A promise only
   * where something has to be read.
   */
  allows(request: AccessContext, ruling: Ruling, right: Right, version: StoredVersion): MaybePromise<boolean>
  /**
   * Returns those of the versions that the right applies to, as `allows` says of each, with few statements for all of
   * them.
   */
  allowed(
    request: AccessContext,
    ruling: Ruling,
    right: Right,
    versions: readonly StoredVersion[],
  ): Promise<ReadonlySet<StoredVersion>>
  /**
   * Returns the current version if the caller may read it, otherwise undefined. `version` was read as the current one.
   * Where its security context decides, it may have been replaced before the context was read: then the version that
   * replaced it is decided on and returned. Throws Contended when that happens too often.
   */
  readable(request: AccessContext, ruling: Ruling, version: StoredVersion): MaybePromise<StoredVersion | undefined>
  /** The guard for changes of a type. All of `rights` must apply to the current version. */
  guardFor(request: AccessContext, ruling: Ruling, type: string, rights: ChangeRights): MaybePromise<WriteGuard>
  /** The same evaluator with another source for the rows of large versions. */
  extractingBy(largeRows: LargeRows): AccessEvaluator
  /** The same evaluator inside a transaction; it reads nothing outside it. */
  inside(transaction: Transaction): AccessEvaluator
}
