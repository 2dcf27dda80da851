/** How rules beyond the structure are put into the generated checks. */

import type { Shape } from '../../model/service.ts'
import type { FaultMaker, Faults } from './faults.ts'
import type { RuleSite } from './generate.ts'
import type { Context } from './run.ts'

/** Holds a value of sound structure to its rules. `index` is its place in an array, -1 outside of one. */
export type Rule = (faults: Faults, path: string, value: any, index: number) => Faults

export interface RuleMaker {
  /** Whether the site has rules that are checked. */
  hasRules(shape: Shape, site: RuleSite): boolean
  /** Null when a definition it needs is not known yet. */
  make(shape: Shape, site: RuleSite): Rule | null
}

/** What rules are made with: where faults go, the resource under way, and the shapes of types. */
export interface RuleTools {
  readonly faults: FaultMaker
  readonly context: Context
  shape(url: string): Shape | null | undefined
}
