/**
 * Applies a ruling to single versions: reads, past versions, history, and both sides of a change. The decision uses
 * the values of that version, not those of the current one.
 */
import type { RequestContext, Right, Ruling } from '../../../kernel/index.ts'
import { chain, type MaybePromise, type Transaction } from '../../database/service.ts'
import type { ReferenceWalker } from '../../model/service.ts'
import {
  type ChangeRights,
  type StoredVersion,
  UNGUARDED,
  type VersionStore,
  type WriteGuard,
} from '../../storage/service.ts'
import type { FoundRows } from '../index/index-findings.ts'
import { parseIndexed } from '../index/indexed-json.ts'
import type { Registry } from '../index/registry.ts'
import type { ClauseSubject } from '../query/clause.ts'
import type { TypeConditions } from '../query/clause-sql.ts'
import type { Criteria } from '../query/criteria.ts'
import { type AccessFilter, createAccessFilter, UNRESTRICTED } from './access-filter.ts'
import { type CompiledGrants, type CompileRight, createGrantCompiler, type GrantCompiler } from './compiled-grants.ts'
import { extent } from './extent.ts'
import { grantResult } from './grant-result.ts'
import { createWriteGuard } from './restricted-guard.ts'
import { createSecurityContexts, type SecurityContexts } from './security-context.ts'

type Context = Pick<RequestContext, 'ownUrl' | 'signal' | 'caller'>

/** Extracts the rows of a large version in a worker thread. Undefined for a version that is not large. */
type LargeRows = (request: Context, version: StoredVersion) => Promise<FoundRows | undefined> | undefined

export interface AccessEvaluator {
  /** The ruling as search conditions. */
  filter(request: Context, ruling: Ruling): AccessFilter
  /**
   * Returns whether the right applies to this version. For a deletion the version before it decides. A promise only
   * where something has to be read.
   */
  allows(request: Context, ruling: Ruling, right: Right, version: StoredVersion): MaybePromise<boolean>
  /** The guard for changes of a type. All of `rights` must apply to the current version. */
  guardFor(request: Context, ruling: Ruling, type: string, rights: ChangeRights): MaybePromise<WriteGuard>
  /** The same evaluator with another source for the rows of large versions. */
  extractingBy(largeRows: LargeRows): AccessEvaluator
  /** The same evaluator inside a transaction; it reads nothing outside it. */
  inside(transaction: Transaction): AccessEvaluator
}

/** The search that decides where the values of a version are not enough. */
interface EvaluatedSearch {
  readonly criteria: Criteria
  readonly registry: Registry
  readonly executor: {
    /** The current versions with these resource keys that match the conditions, all read by one statement. */
    versions(
      rids: readonly number[],
      asking: Pick<RequestContext, 'signal'>,
      required: readonly TypeConditions[],
    ): Promise<readonly StoredVersion[]>
  }
  within(transaction: Transaction): EvaluatedSearch
}

export interface EvaluatorParts {
  readonly search: EvaluatedSearch
  readonly store: VersionStore
  readonly now: () => number
  /** Types of the installed packages. */
  readonly types: ReadonlySet<string>
  readonly referenceWalker: Pick<ReferenceWalker, 'references'>
  readonly largeRows?: LargeRows | undefined
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
  const { criteria, registry, executor } = search

  const compilerFor =
    ({ ownUrl }: Context, { restrictions }: Ruling): CompileRight =>
    (type, right) => {
      const found: CompiledGrants[] = []
      for (const restriction of restrictions) {
        const one = compiler.cached(restriction, type, right, ownUrl)
        if (one === undefined) break
        found.push(one)
      }
      if (found.length === restrictions.length) return found
      const asking = { ownUrl, now: now() }
      return Promise.all(
        restrictions.map(
          (restriction) =>
            compiler.cached(restriction, type, right, ownUrl) ??
            compiler.compile(restriction, type, right, criteria, asking),
        ),
      )
    }

  const givenRows = (version: StoredVersion): ClauseSubject['rows'] | undefined => {
    const found = given.get(version)
    return found !== undefined && registry.hasSameRows(found.source, [version.type]) ? found.rows : undefined
  }
  const subjectOf = (version: StoredVersion): ClauseSubject => {
    const { type, id, versionTime } = version
    return { type, id, versionTime, rows: givenRows(version) ?? registry.extract(parseIndexed(version.text)) }
  }
  const give = (version: StoredVersion, found: FoundRows): void => void given.set(version, found)
  /**
   * Extracts the rows of a large version in a worker thread, where a decision needs them. Undefined where there is
   * nothing to wait for.
   */
  const withRows = (
    request: Context,
    compiled: readonly CompiledGrants[],
    version: StoredVersion,
  ): Promise<void> | undefined => {
    const isDecided = givenRows(version) !== undefined || compiled.every(({ results }) => results.has(version))
    const extracting = isDecided ? undefined : parts.largeRows?.(request, version)
    return extracting?.then((found) => {
      if (found !== undefined) give(version, found)
    })
  }

  /**
   * Conditions on other resources are checked in the index, which knows only current versions: a past version is not
   * shown. The statement that checks them also tells which version it checked, because another one may have become
   * current since this one was read.
   */
  const holdsByIndex = async (
    request: Context,
    others: readonly CompiledGrants[],
    version: StoredVersion,
  ): Promise<boolean> => {
    const type = store.types.code(version.type) ?? 0
    const conditions = others.flatMap((one) => one.conditions)
    const [current] = await executor.versions([version.rid], request, [{ type, conditions }])
    return current?.version === version.version
  }

  const holds = (
    request: Context,
    compiled: readonly CompiledGrants[],
    version: StoredVersion,
  ): MaybePromise<boolean> => {
    const result = grantResult(compiled, version, subjectOf)
    return (
      result ??
      holdsByIndex(
        request,
        compiled.filter(({ test }) => test === undefined),
        version,
      )
    )
  }

  /** Decides by the content of the version, without security contexts. */
  const allowsItself = (
    request: Context,
    ruling: Ruling,
    right: Right,
    version: StoredVersion,
  ): MaybePromise<boolean> => {
    const told = extent(ruling, version.type, right)
    if (told !== 'some') return told === 'all'
    return chain(compilerFor(request, ruling)(version.type, right), (compiled) =>
      chain(withRows(request, compiled, version), () => holds(request, compiled, version)),
    )
  }

  const contextsFor = (request: Context, ruling: Ruling, version: StoredVersion): SecurityContexts =>
    ruling.covers(['r']) ? [] : contextsOf(version, request.ownUrl)

  /**
   * Returns whether the caller may read the security contexts, beginning with the one at `from`. Their current
   * versions decide, also for a past version of the Binary.
   */
  const allowsContexts = (
    request: Context,
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

  const allowsHeld = (request: Context, ruling: Ruling, right: Right, version: StoredVersion): MaybePromise<boolean> =>
    chain(allowsItself(request, ruling, right, version), (isAllowed) =>
      isAllowed ? allowsContexts(request, ruling, contextsFor(request, ruling, version)) : false,
    )

  return {
    filter: (request, ruling) =>
      ruling.restrictions.length === 0
        ? UNRESTRICTED
        : createAccessFilter(ruling, criteria, {
            ownUrl: request.ownUrl,
            now: now(),
            snapshotKey: Number.MAX_SAFE_INTEGER,
          }),
    allows(request, ruling, right, version) {
      const { type } = version
      const told = extent(ruling, type, right)
      if (told !== 'some') return told === 'all'
      if (!version.deleted) return allowsHeld(request, ruling, right, version)
      return store
        .vread(type, version.id, version.version - 1)
        .then((before) => before !== undefined && !before.deleted && allowsHeld(request, ruling, right, before))
    },
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
