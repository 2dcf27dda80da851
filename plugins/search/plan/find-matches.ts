/**
 * Finds the matches of a conditional interaction, twice: on committed data before the transaction, and again inside
 * it. https://hl7.org/fhir/R4/http.html#cond-update
 */
import type { RequestContext, Ruling } from '../../../kernel/index.ts'
import { Contended, type StoredVersion } from '../../storage/service.ts'
import { createAccessFilter, linkedBy } from '../access/access-filter.ts'
import { withProgress } from '../access/with-progress.ts'
import type { SearchClause } from '../query/clause.ts'
import { createExpansions } from '../query/expansions.ts'
import type { SearchView } from './search-view.ts'

export interface ConditionalSearch {
  /** The clauses, built on committed data; they can also check versions that are not stored. */
  readonly conditions: readonly SearchClause[]
  /** Current versions that match, newest first, at most `limit`. Throws Contended when a value set has changed since. */
  find(reads: { readonly view: SearchView }, limit: number): Promise<readonly StoredVersion[]>
  /** Undefined where the clauses contain no codes of a ValueSet. False when a ValueSet has changed since. */
  readonly areCurrent: (() => boolean) | undefined
}

/** Prepares the search for resources of a type that the caller may see. The criteria may be empty. Throws 400, 403. */
export const findMatches = async (
  view: SearchView,
  { ownUrl, signal }: Pick<RequestContext, 'ownUrl' | 'signal'>,
  ruling: Ruling,
  type: string,
  asked: readonly (readonly [string, string])[],
): Promise<ConditionalSearch> => {
  const expansions = createExpansions(view.search.terminology)
  const base = { ownUrl, now: view.clock.now(), snapshotKey: Number.MAX_SAFE_INTEGER, expansions }
  const build = async ({ search: { criteria } }: SearchView): Promise<readonly SearchClause[]> => {
    const access = createAccessFilter(ruling, criteria, base)
    const seen = await access.conditions(type, 's')
    if (seen === undefined) throw access.forbidden(type, 's')
    const built: SearchClause[] = []
    for (const [name, value] of asked)
      built.push(await criteria.toClause(type, name, value, { ...base, ...linkedBy(access) }))
    return [...built, ...seen]
  }
  // The value of a `_filter` contains names of parameters.
  const names = asked.flatMap(([name, value]) => (name.endsWith('_filter') ? [name, value] : [name]))
  if (view.transaction === undefined) await view.search.refreshDefinitions?.(names)
  const conditions = await build(view).catch((error) => {
    throw withProgress(error, ruling)
  })
  return {
    conditions,
    async find({ view: here }, limit) {
      const { search, store } = here
      if (here !== view && !expansions.areCurrent()) throw Contended()
      const plan = await search.planner(store.types.code(type) ?? 0, here === view ? conditions : await build(here))
      const position = { snapshotKey: Number.MAX_SAFE_INTEGER, rid: Number.MAX_SAFE_INTEGER, keys: [] }
      const found = await search.executor.page([plan], position, [], limit, { signal })
      return found.map(({ version }) => version)
    },
    areCurrent: expansions.hasCodes ? expansions.areCurrent : undefined,
  }
}
