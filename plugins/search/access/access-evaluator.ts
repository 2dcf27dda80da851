/**
 * Applies a ruling to single versions: reads, past versions, history, and both sides of a change. The decision uses
 * the values of that version, not those of the current one.
 */
import type { Right, Ruling } from '../../../kernel/index.ts'
import { chain, type MaybePromise } from '../../database/service.ts'
import type { ReferenceWalker } from '../../model/service.ts'
import { type StoredVersion, UNGUARDED } from '../../storage/service.ts'
import type { FoundRows } from '../index/index-findings.ts'
import type { AccessEvaluator } from './access-evaluator-interface.ts'
import { createAccessFilter, UNRESTRICTED } from './access-filter.ts'
import { createAllowedVersions } from './allowed-versions.ts'
import { createGrantCompiler, type GrantCompiler } from './compiled-grants.ts'
import { type AccessContext, type ContentRightsParts, createContentRights } from './content-rights.ts'
import { extent } from './extent.ts'
import { grantResult } from './grant-result.ts'
import { createReadable } from './readable.ts'
import { createWriteGuard } from './restricted-guard.ts'
import { createSecurityContexts, type SecurityContexts } from './security-context.ts'

export interface EvaluatorParts extends ContentRightsParts {
  /** Types of the installed packages. */
  readonly types: ReadonlySet<string>
  readonly referenceWalker: Pick<ReferenceWalker, 'references'>
}

export const createAccessEvaluator = (parts: EvaluatorParts): AccessEvaluator =>
  createOver(
    parts,
    createGrantCompiler(parts.search.registry),
    createSecurityContexts(parts.referenceWalker),
    new WeakMap(),
  )

const createOver = (
  parts: EvaluatorParts,
  compiler: GrantCompiler,
  contextsOf: ReturnType<typeof createSecurityContexts>,
  /** Rows of large versions that were extracted before. */
  given: WeakMap<StoredVersion, FoundRows>,
): AccessEvaluator => {
  const { search, store, now, types } = parts
  const { criteria, registry } = search
  const content = createContentRights(parts, compiler, given)
  const { compilerFor, subjectOf, give, allows: allowsItself } = content

  const contextsFor = (request: AccessContext, ruling: Ruling, version: StoredVersion): SecurityContexts =>
    ruling.covers(['r']) ? [] : contextsOf(version, request.ownUrl)

  /**
   * Returns whether the caller may read the security contexts, beginning with the one at `from`. Their current
   * versions decide, also for a past version of the Binary.
   */
  const allowsContexts = (
    request: AccessContext,
    ruling: Ruling,
    contexts: SecurityContexts,
    from = 0,
  ): MaybePromise<boolean> => {
    if (from === contexts.length) return true
    const context = contexts[from]
    if (context === undefined) return false
    return chain(store.read(context.type, context.id), (found) => {
      if (found === undefined || found.deleted) return false
      return chain(allowsItself(request, ruling, 'r', found), (isAllowed) =>
        isAllowed ? allowsContexts(request, ruling, contexts, from + 1) : false,
      )
    })
  }

  const allowsHeld = (
    request: AccessContext,
    ruling: Ruling,
    right: Right,
    version: StoredVersion,
  ): MaybePromise<boolean> =>
    chain(allowsItself(request, ruling, right, version), (isAllowed) =>
      isAllowed ? allowsContexts(request, ruling, contextsFor(request, ruling, version)) : false,
    )

  const filter: AccessEvaluator['filter'] = (request, ruling) =>
    ruling.restrictions.length === 0
      ? UNRESTRICTED
      : createAccessFilter(ruling, criteria, {
          ownUrl: request.ownUrl,
          now: now(),
          snapshotKey: Number.MAX_SAFE_INTEGER,
        })

  const allows: AccessEvaluator['allows'] = (request, ruling, right, version) => {
    const { type } = version
    const granted = extent(ruling, type, right)
    if (granted !== 'some') return granted === 'all'
    if (!version.deleted) return allowsHeld(request, ruling, right, version)
    return store
      .vread(type, version.id, version.version - 1)
      .then((before) => before !== undefined && !before.deleted && allowsHeld(request, ruling, right, before))
  }

  const readable = createReadable({
    ...{ search, store, filter, allows, contextsFor },
    isUndecided: (request, ruling, version) =>
      chain(
        compilerFor(request, ruling)(version.type, 'r'),
        (compiled) => grantResult(compiled, version, subjectOf) === undefined,
      ),
  })

  return {
    filter,
    allows,
    allowed: createAllowedVersions({ store, allowedItself: content.allowed, contextsFor }),
    readable,
    guardFor(request, ruling, type, rights) {
      if (ruling.covers()) return UNGUARDED
      const compile = compilerFor(request, ruling)
      return createWriteGuard({
        ruling,
        type,
        rights,
        compile,
        subjectOf,
        give,
        registry,
        now,
        types,
        contextsOf: (version) => contextsFor(request, ruling, version),
        caller: request.caller,
      })
    },
    extractingBy: (largeRows) => createOver({ ...parts, largeRows }, compiler, contextsOf, given),
    inside: (transaction) =>
      createOver(
        // A transaction does not wait for worker threads.
        { ...parts, search: search.within(transaction), store: store.within(transaction), largeRows: undefined },
        compiler,
        contextsOf,
        given,
      ),
  }
}
