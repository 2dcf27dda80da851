/**
 * Decides whether a caller may read the current version of a resource. The security context of a Binary is read after the
 * Binary, and a transaction may replace both between the two reads. So what is decided on is one state of the data.
 */
import type { Ruling } from '../../../kernel/index.ts'
import { chain, type MaybePromise } from '../../database/service.ts'
import { Contended, type StoredVersion, type VersionStore } from '../../storage/service.ts'
import type { AccessEvaluator } from './access-evaluator-interface.ts'
import type { AccessContext, EvaluatedSearch } from './content-rights.ts'
import type { SecurityContexts } from './security-context.ts'

/** Versions of a resource that are decided on for one read, each after the one before was replaced meanwhile. */
const MAX_ATTEMPTS = 5

export interface ReadableParts extends Pick<AccessEvaluator, 'filter' | 'allows'> {
  readonly search: Pick<EvaluatedSearch, 'executor'>
  readonly store: VersionStore
  readonly contextsFor: (request: AccessContext, ruling: Ruling, version: StoredVersion) => SecurityContexts
  /** Whether the index has to be searched for what is granted of the version itself, without its security contexts. */
  readonly isUndecided: (request: AccessContext, ruling: Ruling, version: StoredVersion) => MaybePromise<boolean>
}

/** See `AccessEvaluator.readable`. */
export const createReadable = (parts: ReadableParts): AccessEvaluator['readable'] => {
  const { search, store, filter, allows, contextsFor, isUndecided } = parts

  /** Whether the conditions of a search hold for the version, all checked by one statement. */
  const isFound = async (request: AccessContext, ruling: Ruling, version: StoredVersion): Promise<boolean> => {
    const { type, rid } = version
    const conditions = await filter(request, ruling).conditions(type, 'r')
    if (conditions === undefined) return false
    const required = [{ type: store.types.code(type) ?? 0, conditions }]
    const [current] = await search.executor.versions([rid], request, required)
    return current?.version === version.version
  }

  /**
   * A version that is current before and after its one security context is read was current together with it. That is
   * not enough where a third resource decides, too: another context, or one that the index has found. Such a version is
   * also searched for.
   */
  const belongsTogether = (
    request: AccessContext,
    ruling: Ruling,
    version: StoredVersion,
    contexts: SecurityContexts,
  ): MaybePromise<boolean> =>
    // The version before a deletion is not in the index. `allows` hides it where the index would have to be searched.
    version.deleted
      ? true
      : chain(contexts.length > 1 || isUndecided(request, ruling, version), (isSearched) =>
          isSearched ? isFound(request, ruling, version) : true,
        )

  const decide = (
    request: AccessContext,
    ruling: Ruling,
    version: StoredVersion,
    attempt: number,
  ): MaybePromise<StoredVersion | undefined> => {
    const decided = allows(request, ruling, 'r', version)
    // The security context of a deletion is in the version before it.
    const contexts = contextsFor(request, ruling, version)
    const dependsOnContext = version.deleted ? version.type === 'Binary' && !ruling.covers(['r']) : contexts.length > 0
    if (!dependsOnContext) return chain(decided, (isAllowed) => (isAllowed ? version : undefined))
    const together = chain(decided, (isAllowed) =>
      isAllowed ? belongsTogether(request, ruling, version, contexts) : false,
    )
    return chain(together, (isShown) =>
      chain(store.isCurrent(version), (isCurrent) => {
        if (isCurrent) return isShown ? version : undefined
        if (attempt === MAX_ATTEMPTS) throw Contended()
        return chain(store.read(version.type, version.id), (next) =>
          next === undefined ? undefined : decide(request, ruling, next, attempt + 1),
        )
      }),
    )
  }

  return (request, ruling, version) => decide(request, ruling, version, 1)
}
