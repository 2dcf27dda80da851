/** The codes of a code system that a part of a value set includes. */
import { joinVersion } from './canonical.ts'
import { type CodeSystem, readDesignations } from './code-system.ts'
import { ExpandedCodes } from './expanded-codes.ts'
import { type FindDefinition, type Include, type Json, NotExpandableHere, type Pin } from './expansion-contract.ts'
import { toTest } from './filter.ts'

/** `inactive`: inactive codes are included too. Throws NotExpandableHere or UnsupportedFilter. */
export type ExpandSystem = (
  include: Include & { system: string },
  inactive: boolean,
  pin: Pin | undefined,
) => Promise<ExpandedCodes>

export const createExpandSystem = (find: FindDefinition): ExpandSystem => {
  const whole = async (canonical: string): Promise<CodeSystem> => {
    const found = await find.codeSystem(canonical)
    if (found === undefined) throw new NotExpandableHere(`the code system ${canonical} is not here`)
    if (found.content !== 'complete')
      throw new NotExpandableHere(`of the code system ${canonical} there is only what is called "${found.content}"`)
    return found
  }

  return async (include, inactive, pin) => {
    const { url, version: named } = await find.readName('CodeSystem', include.system)
    const stated = include.version ?? named
    const canonical = joinVersion(url, stated ?? (pin?.system === url ? pin.version : undefined))
    const { concept, filter = [] } = include
    const into = new ExpandedCodes()
    // Listed codes can be used without their code system. If it is available, it adds details and shows which codes it
    // does not have.
    const system = concept === undefined ? await whole(canonical) : await find.codeSystem(canonical)
    const common = {
      system: url,
      version: stated ?? system?.version,
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
        designations: readDesignations(listed.designation),
        isInactive: known?.isInactive ?? false,
        isAbstract: known?.isAbstract ?? false,
        isUnknown: known === undefined && system?.content === 'complete',
        concept: known,
      }
      into.add(one, isCaseSensitive)
    }
    if (concept !== undefined) for (const listed of concept) add(String(listed.code), listed)
    else if (system !== undefined) {
      const tests = filter.map((one) => toTest(system, one))
      for (const one of system.concepts.values()) if (tests.every((test) => test(one))) add(one.code, {})
    }
    return into
  }
}
