/** The codes of a code system that a part of a value set includes. */
import { createPause } from '../../kernel/index.ts'
import { joinVersion } from './canonical.ts'
import { CodeSet } from './code-set.ts'
import { type CodeSystem, type ConceptFacts, readDesignations } from './code-system.ts'
import type { ConceptSource } from './concept-source.ts'
import { ExpandedCodes } from './expanded-codes.ts'
import { type FindDefinition, type Include, type Json, NotExpandableHere } from './expansion-contract.ts'
import { toTest, type ValueSetFilter } from './filter.ts'
import type { IndexedPart } from './indexed-part.ts'
import { isInMemory } from './memory-source.ts'
import { PlaceSet } from './place-set.ts'
import type { SystemVersions } from './system-versions.ts'

export interface SystemOptions {
  /** Inactive codes are included too. */
  readonly inactive: boolean
  readonly versions: SystemVersions
  /** Code systems that add designations to others, by the url of those. */
  readonly supplements: ReadonlyMap<string, readonly CodeSystem[]>
}

/** Throws NotExpandableHere or UnsupportedFilter. */
export type ExpandSystem = (include: Include & { system: string }, options: SystemOptions) => Promise<CodeSet>

/** The version to use of a code system, where the value set names one or not. Throws NotExpandableHere. */
const chosenVersion = (url: string, named: string | undefined, versions: SystemVersions): string | undefined => {
  const forced = versions.forced.get(url)
  const required = versions.required.get(url)
  if (forced !== undefined) return forced
  if (named !== undefined && required !== undefined && named !== required)
    throw new NotExpandableHere(`it names version ${named} of ${url}, and the request asks for version ${required}`)
  return named ?? required ?? versions.preferred.get(url)
}

/** The places of a code system that meet all filters. */
const selectAll = async (
  source: ConceptSource,
  filters: readonly ValueSetFilter[],
  inactive: boolean,
): Promise<PlaceSet> => {
  const places = PlaceSet.all(source.size)
  for (const filter of filters) places.keep(await source.select(filter))
  if (!inactive) places.remove(await source.marked('inactive'))
  return places
}

export const createExpandSystem = (find: FindDefinition): ExpandSystem => {
  const available = async (canonical: string): Promise<ConceptSource> => {
    const found = await find.source(canonical)
    if (found === undefined) throw new NotExpandableHere(`the code system ${canonical} is not here`)
    if (found.content !== 'complete' && found.content !== 'fragment')
      throw new NotExpandableHere(`of the code system ${canonical} there is only what is called "${found.content}"`)
    return found
  }

  return async (include, { inactive, versions, supplements }) => {
    const { url, version: named } = await find.readName('CodeSystem', include.system)
    const stated = include.version ?? named
    const version = chosenVersion(url, stated, versions)
    const canonical = joinVersion(url, version)
    const { concept, filter = [] } = include
    const into = new ExpandedCodes()
    // Listed codes can be used without their code system. If it is available, it adds details and shows which codes it
    // does not have.
    const source = concept === undefined ? await available(canonical) : await find.source(canonical)
    const common = {
      system: url,
      version: stated === undefined ? source?.version : version,
      isPinned: stated !== undefined,
      language: source?.language,
    }
    const added = supplements.get(url) ?? []
    const isCaseSensitive = source?.isCaseSensitive ?? true
    const add = (code: string, known: ConceptFacts | undefined, listed: Json): void => {
      if (!inactive && known?.isInactive === true) return
      const one = {
        ...common,
        code: known?.code ?? code,
        display: typeof listed.display === 'string' ? listed.display : known?.display,
        designations: [
          ...readDesignations(listed.designation),
          ...added.flatMap((one) => one.find(code)?.designations ?? []),
        ],
        isInactive: known?.isInactive ?? false,
        isAbstract: known?.isAbstract ?? false,
        isUnknown: known === undefined && source?.content === 'complete' && source.isBuiltIn !== true,
        ...{ concept: known, source },
      }
      into.add(one, isCaseSensitive)
    }
    const parts: IndexedPart[] = []
    const pause = createPause()
    if (concept !== undefined) {
      const known = await source?.findAll(concept.map(({ code }) => String(code)))
      for (const listed of concept) {
        add(String(listed.code), known?.get(String(listed.code)), listed)
        await pause()
      }
    } else if (source !== undefined) {
      if (source.isGrammar === true && filter.length > 0)
        throw new NotExpandableHere(`the codes of ${url} are built by rules, which no filter can be asked of`)
      if (isInMemory(source)) {
        const tests = filter.map((one) => toTest(source.system, one))
        for (const one of source.system.concepts.values()) {
          if (tests.every((test) => test(one))) add(one.code, one, {})
          await pause()
        }
      } else parts.push({ source, common, supplements: added, places: await selectAll(source, filter, inactive) })
      if (source.content === 'fragment' || source.isGrammar === true)
        into.leaveOpen(url, filter.length === 0 ? 'any' : 'some')
    }
    return new CodeSet(into, parts)
  }
}
