/** The interface between the generated checks and the rules that they call besides the structure. */

import type { TypeFields } from '../../model/service.ts'
import type { RuleLocation } from './generate.ts'
import type { StructureFaultFactory, StructureFaults } from './structure-issues.ts'
import type { RunContext } from './validation-run.ts'

/**
 * Checks a value whose structure is valid, and returns `faults` with the new ones. `index` is its index in an array, -1 if it
 * is not in one.
 */
export type Rule = (faults: StructureFaults, path: string, value: any, index: number) => StructureFaults

export interface RuleMaker {
  /** Whether there are rules to check at the location. */
  hasRules(shape: TypeFields, site: RuleLocation): boolean
  /** Makes the rule for the location. Null if a definition that it needs is not loaded yet. */
  make(shape: TypeFields, site: RuleLocation): Rule | null
}

/** What rules need: the factory of faults, the context of the run, and the fields of types. */
export interface RuleTools {
  readonly faults: StructureFaultFactory
  readonly context: RunContext
  shape(url: string): TypeFields | null | undefined
}
