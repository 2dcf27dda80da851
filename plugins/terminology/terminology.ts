/** The terminology service: caches expansions for a while, and reads hierarchies of code systems. */
import { LRUCache } from 'lru-cache'
import type { MemoryBudget } from '../../kernel/index.ts'
import type { CodeSystem } from './code-system.ts'
import type { ConceptSource } from './concept-source.ts'
import { NoHierarchy, NotExpandable, TooManyCodes } from './errors.ts'
import { createExpander } from './expansion.ts'
import { type Expanded, type ExpansionOptions, type Json, NotExpandableHere } from './expansion-contract.ts'
import { UnsupportedFilter } from './filter.ts'
import type { DefinitionFinder } from './find.ts'
import type { Freshness } from './freshness.ts'
import type { Terminology } from './service.ts'
import { keyOf, noVersions } from './system-versions.ts'

const MAX_KEPT = 200_000 // codes of all cached expansions, in 512 MiB of memory

export interface ExpansionService extends Terminology {
  /** A value set with its codes and displays. Undefined when it is not known; throws 400. */
  all(valueSet: string, options?: ExpansionOptions): Promise<Expanded | undefined>
  /** The same of a ValueSet resource. */
  of(valueSet: Json, options?: ExpansionOptions): Promise<Expanded>
  codeSystem(canonical: string): Promise<CodeSystem | undefined>
  readonly source: DefinitionFinder['source']
  readonly sourceOf: DefinitionFinder['sourceOf']
  readonly readName: DefinitionFinder['readName']
  readonly boundValueSet: DefinitionFinder['boundValueSet']
  /** Clears the caches, after a value set or code system was written. */
  forget(): void
}

/** Turns the errors of an expansion into 400, with the name of the value set. */
const telling = async <T>(valueSet: string, work: () => Promise<T>): Promise<T> => {
  try {
    return await work()
  } catch (error) {
    if (error instanceof NotExpandableHere || error instanceof UnsupportedFilter)
      throw NotExpandable(valueSet.slice(0, 200), error.message)
    throw error
  }
}

export const createTerminology = (
  find: DefinitionFinder,
  freshness: Freshness,
  memory: MemoryBudget,
): ExpansionService => {
  const { expand, expandResource } = createExpander(find)
  const kept = new LRUCache<string, { readonly expanded: Expanded; readonly at: number }>({
    maxSize: memory.share(MAX_KEPT, { least: MAX_KEPT / 8 }),
    sizeCalculation: ({ expanded }) => 1 + Math.ceil(expanded.expansion.weight),
  })
  // Counts writes, so that an expansion that was begun before a write is not cached after it.
  let life = 0

  const all = async (valueSet: string, options: ExpansionOptions = {}): Promise<Expanded | undefined> => {
    const { versions = noVersions(), asOf } = options
    const key = `${valueSet} ${keyOf(versions)}`
    const known = asOf === undefined ? kept.get(key) : undefined
    if (known !== undefined && freshness.holds(known.at)) return known.expanded
    const begun = life
    const expanded = await telling(valueSet, () => expand(valueSet, options))
    if (expanded !== undefined && begun === life && asOf === undefined) kept.set(key, { expanded, at: freshness.now() })
    return expanded
  }

  return {
    all,
    of(valueSet, options) {
      const name = typeof valueSet.url === 'string' ? valueSet.url : 'of the request'
      return telling(name, () => expandResource(valueSet, name, options))
    },
    codeSystem: find.codeSystem,
    source: find.source,
    sourceOf: find.sourceOf,
    readName: find.readName,
    boundValueSet: find.boundValueSet,
    async expand(valueSet, most) {
      const expanded = await all(valueSet)
      if (expanded === undefined) return undefined
      const { open } = expanded.expansion
      const [fragment] = open.keys()
      if (fragment !== undefined)
        throw NotExpandable(
          valueSet.slice(0, 200),
          `of the code system ${fragment} there is only a fragment, or its codes cannot be listed`,
        )
      const codes = await expanded.expansion.distinct(most)
      if (codes === undefined) throw TooManyCodes(valueSet.slice(0, 200), most)
      return codes
    },
    async related({ system, code }, direction, most) {
      const found: ConceptSource | undefined = await find.source(system)
      if (found === undefined) return undefined
      const { content, hierarchy } = found
      const what = `${system}|${code}`.slice(0, 200)
      if (content !== 'complete')
        throw NoHierarchy(what, `of its code system there is only what is called "${content}"`)
      if (hierarchy !== 'is-a') throw NoHierarchy(what, `the hierarchy of its code system means ${hierarchy}`)
      const start = await found.find(code)
      if (start === undefined) throw NoHierarchy(what, 'its code system has no such code')
      const codes = await found.related(start, direction, most)
      if (codes.length > most) throw TooManyCodes(what, most)
      return codes.map((one) => ({ system, code: one }))
    },
    edition: () => life,
    forget() {
      life += 1
      kept.clear()
      find.forget()
    },
  }
}
