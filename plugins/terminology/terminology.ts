/** The terminology service: caches expansions for a while, and reads hierarchies of code systems. */
import { LRUCache } from 'lru-cache'
import { type CodeSystem, descendantsOf } from './code-system.ts'
import { NoHierarchy, NotExpandable, TooManyCodes } from './errors.ts'
import type { Expansion } from './expanded-codes.ts'
import { createExpander } from './expansion.ts'
import { NotExpandableHere, type Pin } from './expansion-contract.ts'
import { UnsupportedFilter } from './filter.ts'
import type { DefinitionFinder } from './find.ts'
import type { Freshness } from './freshness.ts'
import type { Terminology } from './service.ts'

const MAX_KEPT = 200_000 // codes of all cached expansions

export interface ExpansionService extends Terminology {
  /** The expansion of a value set, with displays. Undefined when it is not known; throws 400. */
  all(valueSet: string, pin?: Pin): Promise<Expansion | undefined>
  /** The expansion of a ValueSet resource. */
  of(valueSet: Readonly<Record<string, unknown>>, pin?: Pin): Promise<Expansion>
  codeSystem(canonical: string): Promise<CodeSystem | undefined>
  readonly readName: DefinitionFinder['readName']
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

export const createTerminology = (find: DefinitionFinder, freshness: Freshness): ExpansionService => {
  const { expand, expandResource } = createExpander(find)
  const kept = new LRUCache<string, { readonly expansion: Expansion; readonly at: number }>({
    maxSize: MAX_KEPT,
    sizeCalculation: ({ expansion }) => 1 + expansion.size,
  })
  // Counts writes, so that an expansion that was begun before a write is not cached after it.
  let life = 0

  const all = async (valueSet: string, pin?: Pin): Promise<Expansion | undefined> => {
    const key = pin === undefined ? valueSet : `${valueSet} ${pin.system}|${pin.version}`
    const known = kept.get(key)
    if (known !== undefined && freshness.holds(known.at)) return known.expansion
    const begun = life
    const expansion = await telling(valueSet, () => expand(valueSet, pin))
    if (expansion !== undefined && begun === life) kept.set(key, { expansion, at: freshness.now() })
    return expansion
  }

  return {
    all,
    of(valueSet, pin) {
      const name = typeof valueSet.url === 'string' ? valueSet.url : 'of the request'
      return telling(name, () => expandResource(valueSet, name, pin))
    },
    codeSystem: find.codeSystem,
    readName: find.readName,
    async expand(valueSet, most) {
      const expansion = await all(valueSet)
      if (expansion === undefined) return undefined
      const codes = [...expansion.distinct]
      if (codes.length > most) throw TooManyCodes(valueSet.slice(0, 200), most)
      return codes
    },
    async related({ system, code }, direction, most) {
      const found = await find.codeSystem(system)
      if (found === undefined) return undefined
      const { content, hierarchy } = found
      const what = `${system}|${code}`.slice(0, 200)
      if (content !== 'complete')
        throw NoHierarchy(what, `of its code system there is only what is called "${content}"`)
      if (hierarchy !== 'is-a') throw NoHierarchy(what, `the hierarchy of its code system means ${hierarchy}`)
      const start = found.find(code)
      if (start === undefined) throw NoHierarchy(what, 'its code system has no such code')
      const codes = descendantsOf(start, direction === 'above' ? 'parents' : 'children')
      if (codes.size > most) throw TooManyCodes(what, most)
      return [...codes].map((one) => ({ system, code: one.code }))
    },
    edition: () => life,
    forget() {
      life += 1
      kept.clear()
      find.forget()
    },
  }
}
