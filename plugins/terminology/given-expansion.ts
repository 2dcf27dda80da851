import { readDesignations } from './code-system.ts'
import { ExpandedCodes } from './expanded-codes.ts'
import type { Json } from './expansion-contract.ts'

/** The expansion that a ValueSet resource contains, if it is complete. */
export const givenExpansion = (expansion: Json | undefined): ExpandedCodes | undefined => {
  if (expansion === undefined || expansion.offset !== undefined) return undefined
  const into = new ExpandedCodes()
  let count = 0
  const read = (list: unknown): void => {
    for (const one of (Array.isArray(list) ? list : []) as any[]) {
      count += 1
      const { system, version, code, display, designation, abstract, inactive } = one
      if (typeof code === 'string' && abstract !== true)
        into.add(
          {
            ...{ system: system ?? '', version, isPinned: version !== undefined, code, display, language: undefined },
            ...{ designations: readDesignations(designation), concept: undefined },
            ...{ isInactive: inactive === true, isAbstract: false, isUnknown: false },
          },
          true,
        )
      read(one.contains)
    }
  }
  read(expansion.contains)
  return typeof expansion.total === 'number' && expansion.total > count ? undefined : into
}
