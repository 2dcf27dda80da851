/** How rules beyond the structure are put into the generated checks. */

import type { TypeFields } from '../../model/service.ts'
import type { RuleLocation } from './generate.ts'
import type { StructureFaultFactory, StructureFaults } from './structure-issues.ts'
import type { RunContext } from './validation-run.ts'

/** Holds a value of sound structure to its rules. `index` is its place in an array, -1 outside of one. */
export type Rule = (faults: StructureFaults, path: string, value: any, index: number) => StructureFaults

export interface RuleMaker {
  /** Whether the site has rules that are checked. */
  hasRules(shape: TypeFields, site: RuleLocation): boolean
  /** Null when a definition it needs is not known yet. */
  make(shape: TypeFields, site: RuleLocation): Rule | null
}

/** What rules are made with: where faults go, the resource under way, and the shapes of types. */
export interface RuleTools {
  readonly faults: StructureFaultFactory
  readonly context: RunContext
  shape(url: string): TypeFields | null | undefined
}
