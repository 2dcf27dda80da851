/** The codes of a code system that a part of a value set includes. */
import { joinVersion } from './canonical.ts'
import { type CodeSystem, readDesignations } from './code-system.ts'
import { ExpandedCodes } from './expanded-codes.ts'
import { type FindDefinition, type Include, type Json, NotExpandableHere } from './expansion-contract.ts'
import { toTest } from './filter.ts'
import type { SystemVersions } from './system-versions.ts'

export interface SystemOptions {
  /** Inactive codes are included too. */
  readonly inactive: boolean
  readonly versions: SystemVersions
  /** Code systems that add designations to others, by the url of those. */
  readonly supplements: ReadonlyMap<string, readonly CodeSystem[]>
}

/** Throws NotExpandableHere or UnsupportedFilter. */
export type ExpandSystem = (include: Include & { system: string }, options: SystemOptions) => Promise<ExpandedCodes>

/** The version to use of a code system, where the value set names one or not. Throws NotExpandableHere. */
const chosenVersion = (url: string, named: string | undefined, versions: SystemVersions): string | undefined => {
  const forced = versions.forced.get(url)
  const required = versions.required.get(url)
  if (forced !== undefined) return forced
  if (named !== undefined && required !== undefined && named !== required)
    throw new NotExpandableHere(`it names version ${named} of ${url}, and the request asks for version ${required}`)
  return named ?? required ?? versions.preferred.get(url)
}

export const createExpandSystem = (find: FindDefinition): ExpandSystem => {
  const available = async (canonical: string): Promise<CodeSystem> => {
    const found = await find.codeSystem(canonical)
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
    const system = concept === undefined ? await available(canonical) : await find.codeSystem(canonical)
    const common = {
      system: url,
      version: stated === undefined ? system?.version : version,
      isPinned: stated !== undefined,
      language: system?.language,
    }
    const isCaseSensitive = system?.isCaseSensitive ?? true
    const add = (code: string, listed: Json): void => {
      const known = system?.find(code)
      if (!inactive && known?.isInactive === true) return
      const one = {
        ...common,
        code: known?.code ?? code,
        display: typeof listed.display === 'string' ? listed.display : known?.display,
        designations: [
          ...readDesignations(listed.designation),
          ...(supplements.get(url) ?? []).flatMap((one) => one.find(code)?.designations ?? []),
        ],
        isInactive: known?.isInactive ?? false,
        isAbstract: known?.isAbstract ?? false,
        isUnknown: known === undefined && system?.content === 'complete' && system.isBuiltIn !== true,
        concept: known,
      }
      into.add(one, isCaseSensitive)
    }
    if (concept !== undefined) for (const listed of concept) add(String(listed.code), listed)
    else if (system !== undefined) {
      if (system.isGrammar === true && filter.length > 0)
        throw new NotExpandableHere(`the codes of ${url} are built by rules, which no filter can be asked of`)
      const tests = filter.map((one) => toTest(system, one))
      for (const one of system.concepts.values()) if (tests.every((test) => test(one))) add(one.code, {})
      if (system.content === 'fragment' || system.isGrammar === true)
        into.leaveOpen(url, filter.length === 0 ? 'any' : 'some')
    }
    return into
  }
}
