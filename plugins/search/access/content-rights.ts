/** Decides by the content of a version whether a right applies to it, without security contexts. */
import { createPause, type RequestContext, type Right, type Ruling } from '../../../kernel/index.ts'
import { chain, type MaybePromise, type Transaction } from '../../database/service.ts'
import type { StoredVersion, VersionStore } from '../../storage/service.ts'
import type { FoundRows } from '../index/index-findings.ts'
import { parseIndexed } from '../index/indexed-json.ts'
import type { Registry } from '../index/registry.ts'
import type { ClauseSubject } from '../query/clause.ts'
import type { TypeConditions } from '../query/clause-sql.ts'
import type { Criteria } from '../query/criteria.ts'
import type { CompiledGrants, CompileRight, GrantCompiler } from './compiled-grants.ts'
import { extent } from './extent.ts'
import { grantResult } from './grant-result.ts'

export type AccessContext = Pick<RequestContext, 'ownUrl' | 'signal' | 'caller'>

/** Extracts the rows of a large version in a worker thread. Undefined for a version that is not large. */
export type LargeRows = (request: AccessContext, version: StoredVersion) => Promise<FoundRows | undefined> | undefined

/** The search that decides where the values of a version are not enough. */
export interface EvaluatedSearch {
  readonly criteria: Criteria
  readonly registry: Registry
  readonly executor: {
    /** The current versions with these resource keys that match the conditions, all read by one statement. */
    versions(
      rids: readonly number[],
      asking: Pick<RequestContext, 'signal'>,
      required: readonly TypeConditions[],
    ): Promise<readonly StoredVersion[]>
    /** The numbers of those versions by resource key, without their content. */
    currentNumbers(
      rids: readonly number[],
      asking: Pick<RequestContext, 'signal'>,
      required: readonly TypeConditions[],
    ): Promise<ReadonlyMap<number, number>>
  }
  within(transaction: Transaction): EvaluatedSearch
}

export interface ContentRightsParts {
  readonly search: EvaluatedSearch
  readonly store: VersionStore
  readonly now: () => number
  readonly largeRows?: LargeRows | undefined
}

export interface ContentRights {
  /** Returns the compiled grants of a type and right. */
  compilerFor(request: AccessContext, ruling: Ruling): CompileRight
  /** The version as the subject of conditions, with its index rows. */
  subjectOf(version: StoredVersion): ClauseSubject
  /** Keeps the rows of a large version that were extracted before. */
  give(version: StoredVersion, found: FoundRows): void
  allows(request: AccessContext, ruling: Ruling, right: Right, version: StoredVersion): MaybePromise<boolean>
  /** Those of the versions that the right applies to. The index is searched once for each type. */
  allowed(
    request: AccessContext,
    ruling: Ruling,
    right: Right,
    versions: readonly StoredVersion[],
  ): Promise<ReadonlySet<StoredVersion>>
}

/** `given`: rows of large versions that were extracted before. */
export const createContentRights = (
  { search: { criteria, registry, executor }, store, now, largeRows }: ContentRightsParts,
  compiler: GrantCompiler,
  given: WeakMap<StoredVersion, FoundRows>,
): ContentRights => {
  const compilerFor =
    ({ ownUrl }: AccessContext, { restrictions }: Ruling): CompileRight =>
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
    request: AccessContext,
    compiled: readonly CompiledGrants[],
    version: StoredVersion,
  ): Promise<void> | undefined => {
    const isDecided = givenRows(version) !== undefined || compiled.every(({ results }) => results.has(version))
    const extracting = isDecided ? undefined : largeRows?.(request, version)
    return extracting?.then((found) => {
      if (found !== undefined) give(version, found)
    })
  }

  /**
   * Conditions on other resources are checked in the index, which knows only current versions: a past version is not
   * shown. The statement that checks them also returns which versions it checked, because others may have become
   * current since these ones were read.
   */
  const holdingByIndex = async (
    request: AccessContext,
    compiled: readonly CompiledGrants[],
    type: string,
    versions: readonly StoredVersion[],
  ): Promise<readonly StoredVersion[]> => {
    const conditions = compiled.flatMap((one) => (one.test === undefined ? one.conditions : []))
    const rids = [...new Set(versions.map(({ rid }) => rid))]
    const required = [{ type: store.types.code(type) ?? 0, conditions }]
    const current = await executor.currentNumbers(rids, request, required)
    return versions.filter(({ rid, version }) => current.get(rid) === version)
  }

  const holds = (
    request: AccessContext,
    compiled: readonly CompiledGrants[],
    version: StoredVersion,
  ): MaybePromise<boolean> =>
    grantResult(compiled, version, subjectOf) ??
    holdingByIndex(request, compiled, version.type, [version]).then((found) => found.length > 0)

  const allowed: ContentRights['allowed'] = async (request, ruling, right, versions) => {
    const compile = compilerFor(request, ruling)
    const pause = createPause()
    const found = new Set<StoredVersion>()
    for (const [type, list] of Map.groupBy(versions, (one) => one.type)) {
      const granted = extent(ruling, type, right)
      if (granted === 'all') for (const version of list) found.add(version)
      if (granted !== 'some') continue
      const compiled = await compile(type, right)
      const undecided: StoredVersion[] = []
      for (const version of list) {
        const extracting = withRows(request, compiled, version)
        if (extracting !== undefined) await extracting
        const result = grantResult(compiled, version, subjectOf)
        if (result === true) found.add(version)
        if (result === undefined) undecided.push(version)
        const pausing = pause()
        if (pausing === undefined) continue
        await pausing
        request.signal.throwIfAborted()
      }
      if (undecided.length === 0) continue
      // Compiled again, because SQL names the systems that a code had at that time: other requests may have stored more
      // of them during the pauses.
      for (const version of await holdingByIndex(request, await compile(type, right), type, undecided))
        found.add(version)
    }
    return found
  }

  const allows = (
    request: AccessContext,
    ruling: Ruling,
    right: Right,
    version: StoredVersion,
  ): MaybePromise<boolean> => {
    const granted = extent(ruling, version.type, right)
    if (granted !== 'some') return granted === 'all'
    return chain(compilerFor(request, ruling)(version.type, right), (compiled) =>
      chain(withRows(request, compiled, version), () => holds(request, compiled, version)),
    )
  }

  return { compilerFor, subjectOf, give, allows, allowed }
}
